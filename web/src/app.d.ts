declare global {
	namespace App {
		/** What went wrong, and what to do next: the shape of every error of the engine. */
		interface Error {
			message: string;
			hint?: string;
		}
	}
}

export {};
