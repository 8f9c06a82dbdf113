declare global {
	namespace App {
		/** What went wrong and what to do next; the server's errors have the same shape. */
		interface Error {
			message: string;
			hint?: string;
		}
		/** Open dialogs and sheets, oldest first: each is a history entry that the back button closes. */
		interface PageState {
			open?: number[];
		}
	}
}

export {};
