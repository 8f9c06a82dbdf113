/** What of the shell is open: panes, palette, help. Panes are kept on the device. */
import { keep, kept } from '$lib/browser/local-storage';

const KEYBOARD = 0.75; // of the height: less than this, and a keyboard is there

/** Whether a pane is open; at first it is. */
const isOpen = (pane: string): boolean => (kept(pane) ?? 'true') === 'true';

class ShellState {
	places = $state(isOpen('places'));
	margin = $state(isOpen('margin'));
	palette = $state(false);
	/** What was typed into the palette, or for it before it was there. */
	typed = $state('');
	help = $state(false);
	more = $state(false);
	/** How high the page is while a keyboard covers a part of it; 0: none does. The bar makes room then. */
	aboveKeyboard = $state(0);
	/** How far a keyboard pushed the page up, where it lies over it; the page follows, so that its top stays in sight. */
	pushed = $state(0);

	/** Watch for the keyboard of a phone; what is returned ends it. */
	watchKeyboard(): () => void {
		const seen = window.visualViewport;
		let tallest = 0;
		let width = 0;
		const measure = () => {
			if (!seen) return;
			if (seen.width !== width) tallest = 0; // it was turned, or zoomed
			width = seen.width;
			tallest = Math.max(tallest, seen.height);
			this.aboveKeyboard = seen.height < tallest * KEYBOARD ? seen.height : 0;
			this.pushed = this.aboveKeyboard ? seen.offsetTop : 0;
		};
		seen?.addEventListener('resize', measure);
		seen?.addEventListener('scroll', measure);
		window.addEventListener('focusin', measure); // before the keyboard comes
		return () => {
			seen?.removeEventListener('resize', measure);
			seen?.removeEventListener('scroll', measure);
			window.removeEventListener('focusin', measure);
		};
	}

	/** Open the palette with nothing typed, or close it. */
	togglePalette(): void {
		this.palette = !this.palette;
		this.typed = '';
	}

	toggle(pane: 'places' | 'margin'): void {
		this[pane] = !this[pane];
		keep(pane, String(this[pane]));
	}
}

export const shell = new ShellState();
