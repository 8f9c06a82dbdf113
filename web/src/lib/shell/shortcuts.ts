/** Keys that work everywhere, except where a person writes. */
import { goto } from '$app/navigation';
import { MAIN, MORE } from './navigation';
import { shell } from './shell.svelte';

/** What is pressed together with a letter, as it stands on this device's keyboard. */
export const COMMAND = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl';

/** Where one writes in the palette. */
export const PALETTE_INPUT = 'palette-input';

const SECOND_KEY_MS = 900;
let first = { key: '', at: 0 };

/** Whether keys belong to the element: then they are letters, not commands. */
export function isWriting(target: EventTarget | null): boolean {
	return (
		target instanceof HTMLElement &&
		(target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
	);
}

/** Letters that are typed while the palette is on its way are its first ones, not commands. */
export function onkeyahead(event: KeyboardEvent): void {
	const isLetter = event.key.length === 1 && !event.metaKey && !event.ctrlKey && !event.altKey;
	if (!shell.palette || !isLetter || document.activeElement?.id === PALETTE_INPUT) return;
	event.preventDefault();
	event.stopPropagation();
	shell.typed += event.key;
}

/** What the page does with a key, if it is one of ours. */
export function onkey(event: KeyboardEvent): void {
	if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
		event.preventDefault();
		shell.togglePalette();
		return;
	}
	if (event.metaKey || event.ctrlKey || event.altKey || isWriting(event.target)) return;
	if (document.querySelector('[role="dialog"]')) return;
	const pair = event.timeStamp - first.at < SECOND_KEY_MS ? `${first.key} ${event.key}` : '';
	first = { key: event.key, at: event.timeStamp };
	const place = [...MAIN, ...MORE].find((one) => one.keys === pair || one.keys === event.key);
	if (place) {
		event.preventDefault();
		void goto(place.href);
	} else if (event.key === '?') {
		event.preventDefault();
		shell.help = true;
	}
}

/** What the help shows. */
export const KEYS: { keys: string; does: string }[] = [
	{ keys: `${COMMAND} K`, does: 'Go anywhere, do anything' },
	{ keys: '/', does: 'Search' },
	{ keys: 'j  k', does: 'Next and previous message' },
	{ keys: 'c', does: 'Write' },
	{ keys: 'e', does: 'Edit the chosen message' },
	{ keys: 'r', does: 'Answer again' },
	{ keys: 'i', does: 'What the answer stood on' },
	{ keys: 'm', does: 'What can be done with the message' },
	{ keys: 'Esc', does: 'Stop the answer, or leave the composer' },
	...[...MAIN, ...MORE]
		.filter((place) => place.keys?.startsWith('g '))
		.map((place) => ({ keys: place.keys ?? '', does: place.label })),
	{ keys: '?', does: 'These keys' }
];
