/** Keyboard shortcuts that work on every page, except while typing in a field. */
import { goto } from '$app/navigation';
import { MAIN_ITEMS, MORE_ITEMS } from './navigation';
import { shell } from './shell.svelte';

/** The command key as it is labelled on this device's keyboard. */
export const COMMAND = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl';

/** The id of the input of the command palette. */
export const PALETTE_INPUT = 'palette-input';

const SECOND_KEY_MS = 900;
let firstKey = { key: '', at: 0 };

/** Whether a person is typing into this element: then keys are letters, not shortcuts. */
export function isTyping(target: EventTarget | null): boolean {
	return (
		target instanceof HTMLElement &&
		(target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
	);
}

/** Letters typed while the palette is still loading are collected for it. */
export function typeIntoPalette(event: KeyboardEvent): void {
	const isLetter = event.key.length === 1 && !event.metaKey && !event.ctrlKey && !event.altKey;
	if (!shell.palette || !isLetter || document.activeElement?.id === PALETTE_INPUT) return;
	event.preventDefault();
	event.stopPropagation();
	shell.paletteText += event.key;
}

/** Run the shortcut of a key, if it has one. */
export function handleShortcut(event: KeyboardEvent): void {
	if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
		event.preventDefault();
		shell.togglePalette();
		return;
	}
	if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
	if (document.querySelector('[role="dialog"]')) return;
	const sequence = event.timeStamp - firstKey.at < SECOND_KEY_MS ? `${firstKey.key} ${event.key}` : '';
	firstKey = { key: event.key, at: event.timeStamp };
	const item = [...MAIN_ITEMS, ...MORE_ITEMS].find((one) => one.keys === sequence || one.keys === event.key);
	if (item) {
		event.preventDefault();
		void goto(item.href);
	} else if (event.key === '?') {
		event.preventDefault();
		shell.help = true;
	}
}

/** All shortcuts, as the help lists them. */
export const SHORTCUTS: { keys: string; description: string }[] = [
	{ keys: `${COMMAND} K`, description: 'Open the command palette' },
	{ keys: '/', description: 'Search' },
	{ keys: 'j  k', description: 'Next and previous message' },
	{ keys: 'c', description: 'Write a message' },
	{ keys: 'e', description: 'Edit the selected message' },
	{ keys: 'r', description: 'Regenerate the answer' },
	{ keys: 'i', description: 'Show the sources of the answer' },
	{ keys: 'm', description: 'Open message actions' },
	{ keys: 'Esc', description: 'Stop the answer, or leave the message field' },
	...[...MAIN_ITEMS, ...MORE_ITEMS]
		.filter((item) => item.keys?.startsWith('g '))
		.map((item) => ({ keys: item.keys ?? '', description: `Go to ${item.label}` })),
	{ keys: '?', description: 'Show keyboard shortcuts' }
];
