/** Dictation and reading aloud with the platform's own speech. Off until switched on, on this device. */
import { readLocal, writeLocal } from '$lib/browser/local-storage';
import { toPlainText, toSentences } from './plain-text';

type Result = { isFinal: boolean; 0: { transcript: string } };
type Recognition = {
	lang: string;
	continuous: boolean;
	interimResults: boolean;
	onresult: ((event: { resultIndex: number; results: ArrayLike<Result> }) => void) | null;
	onerror: ((event: { error: string }) => void) | null;
	onend: (() => void) | null;
	start(): void;
	stop(): void;
	abort(): void;
};

const platform = window as unknown as { SpeechRecognition?: new () => Recognition; webkitSpeechRecognition?: new () => Recognition };
const Recogniser = platform.SpeechRecognition ?? platform.webkitSpeechRecognition;
const PROBLEMS: Record<string, string> = {
	'not-allowed': 'The browser does not allow the microphone. Allow it for this page, then try again.',
	'service-not-allowed': 'The browser does not allow dictation here.',
	'audio-capture': 'No microphone was found.',
	network: 'Dictation needs a connection in this browser.',
	'language-not-supported': 'This browser cannot dictate in your language.'
};

class Speech {
	readonly canDictate = Recogniser !== undefined;
	readonly canRead = 'speechSynthesis' in window;
	dictation = $state(readLocal('speech.dictation') === 'on');
	reading = $state(readLocal('speech.reading') === 'on');
	listening = $state(false);
	problem = $state('');
	readingId = $state(''); // the message that is read aloud
	#recognition: Recognition | null = null;

	setDictation(on: boolean): void {
		this.dictation = on;
		writeLocal('speech.dictation', on ? 'on' : null);
		if (!on) this.stopListening();
	}

	setReading(on: boolean): void {
		this.reading = on;
		writeLocal('speech.reading', on ? 'on' : null);
		if (!on) this.stopReading();
	}

	/** Listen until stopped; `onheard` gets each phrase once it is certain. */
	listen(onheard: (text: string) => void): void {
		if (!Recogniser || this.listening) return;
		this.stopReading(); // else it would hear itself
		const recognition = new Recogniser();
		recognition.lang = navigator.language;
		recognition.continuous = true;
		recognition.interimResults = false;
		recognition.onresult = ({ resultIndex, results }) => {
			for (const result of Array.from(results).slice(resultIndex)) if (result.isFinal) onheard(result[0].transcript.trim());
		};
		recognition.onerror = ({ error }) => (this.problem = PROBLEMS[error] ?? '');
		recognition.onend = () => (this.listening = false);
		this.#recognition = recognition;
		this.problem = '';
		this.listening = true;
		recognition.start();
	}

	stopListening(): void {
		this.#recognition?.stop();
	}

	/** Read a message aloud; asked for again, stop. */
	toggleReading(id: string, markdown: string): void {
		const again = this.readingId === id;
		this.stopReading();
		if (again) return;
		const pieces = toSentences(toPlainText(markdown));
		if (!pieces.length) return;
		this.readingId = id;
		pieces.forEach((piece, index) => {
			const utterance = new SpeechSynthesisUtterance(piece);
			utterance.lang = navigator.language;
			const end = () => {
				if (this.readingId === id) this.readingId = '';
			};
			if (index === pieces.length - 1) utterance.onend = end;
			utterance.onerror = end;
			speechSynthesis.speak(utterance);
		});
	}

	stopReading(): void {
		this.readingId = '';
		if (this.canRead) speechSynthesis.cancel();
	}
}

export const speech = new Speech();
