/** What is open in the shell: panes, command palette, help. The state of the panes is kept in this browser. */
import { readLocal, writeLocal } from '$lib/browser/local-storage';

const KEYBOARD_SHARE = 0.75; // of the height: below this, an on-screen keyboard is open

/** Whether a pane is open; by default it is. */
const isOpen = (pane: string): boolean => (readLocal(pane) ?? 'true') === 'true';

class ShellState {
	sidebar = $state(isOpen('sidebar'));
	sources = $state(isOpen('sources'));
	palette = $state(false);
	/** The text typed into the command palette, or for it while it was loading. */
	paletteText = $state('');
	help = $state(false);
	more = $state(false);
	/** The list of conversations of a phone; a desktop has it in the sidebar. */
	conversations = $state(false);
	/** The visible height while an on-screen keyboard covers part of the page; 0 if none does. */
	heightAboveKeyboard = $state(0);
	/** How far the keyboard pushed the page up where it lies over it; the page follows, so that its top stays visible. */
	keyboardOffset = $state(0);

	/** Watch for the on-screen keyboard of a phone. Returns a function that stops watching. */
	watchKeyboard(): () => void {
		const viewport = window.visualViewport;
		let tallest = 0;
		let width = 0;
		const measure = () => {
			if (!viewport) return;
			if (viewport.width !== width) tallest = 0; // rotated or zoomed
			width = viewport.width;
			tallest = Math.max(tallest, viewport.height);
			this.heightAboveKeyboard = viewport.height < tallest * KEYBOARD_SHARE ? viewport.height : 0;
			this.keyboardOffset = this.heightAboveKeyboard ? viewport.offsetTop : 0;
		};
		viewport?.addEventListener('resize', measure);
		viewport?.addEventListener('scroll', measure);
		window.addEventListener('focusin', measure); // before the keyboard opens
		return () => {
			viewport?.removeEventListener('resize', measure);
			viewport?.removeEventListener('scroll', measure);
			window.removeEventListener('focusin', measure);
		};
	}

	/** Open the empty palette, or close it. */
	togglePalette(): void {
		this.palette = !this.palette;
		this.paletteText = '';
	}

	toggle(pane: 'sidebar' | 'sources'): void {
		this[pane] = !this[pane];
		writeLocal(pane, String(this[pane]));
	}
}

export const shell = new ShellState();
