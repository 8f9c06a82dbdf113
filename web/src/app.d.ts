declare global {
	namespace App {
		/** What went wrong, and what to do next: the shape of every error of the engine. */
		interface Error {
			message: string;
			hint?: string;
		}
		/** What is open above the page, the lowest first: each is a step that the back key takes back. */
		interface PageState {
			open?: number[];
		}
	}
}

export {};
