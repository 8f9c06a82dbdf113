/**
 * What this browser keeps for use without a connection: unsent messages, the last messages of each conversation, the list of them.
 *
 * In IndexedDB, because it holds more than local storage and its updates are atomic across tabs. Where it is blocked, values last until
 * the page is closed. `clearOffline` erases everything when the person signs out. A device that the server signed out keeps its unsent
 * messages, for when it is signed in again.
 */
import { createStore, delMany, get, keys, set, update, type UseStore } from 'idb-keyval';

const memory = new Map<string, unknown>(); // where IndexedDB is blocked
let opened: UseStore | null = null;

function store(): UseStore {
	opened ??= createStore('everloop', 'offline');
	return opened;
}

/** The stored value; undefined if there is none. */
export async function readOffline<Data>(key: string): Promise<Data | undefined> {
	try {
		return await get<Data>(key, store());
	} catch {
		return memory.get(key) as Data | undefined;
	}
}

export async function writeOffline(key: string, value: unknown): Promise<void> {
	try {
		await set(key, value, store());
	} catch {
		memory.set(key, value);
	}
}

/** Change a value; no other tab can change it in between. */
export async function updateOffline<Data>(key: string, change: (before: Data | undefined) => Data): Promise<void> {
	try {
		await update<Data>(key, change, store());
	} catch {
		memory.set(key, change(memory.get(key) as Data | undefined));
	}
}

/** Erase what is kept for use without a connection, except under these keys. */
export async function clearOffline(except: string[] = []): Promise<void> {
	for (const key of memory.keys()) if (!except.includes(key)) memory.delete(key);
	try {
		const stored = await keys<string>(store());
		await delMany(
			stored.filter((key) => !except.includes(key)),
			store()
		);
	} catch {
		// Nothing was stored.
	}
}
