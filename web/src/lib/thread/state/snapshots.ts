/** The last messages of each conversation, kept in this browser, so that they can be read without a connection. */
import { readOffline, updateOffline, writeOffline } from '$lib/browser/offline-store';
import type { BranchInfo, Message } from '../types';

export type Snapshot = { messages: Message[]; branches: BranchInfo[] };

const MESSAGES_MAX = 60;
const CONVERSATIONS_MAX = 30;
const RECENT = 'snapshots';
const key = (threadId: string) => `snapshot.${threadId}`;

/** Keep the end of a conversation; that of the one not used for longest is dropped. */
export async function saveSnapshot(threadId: string, { messages, branches }: Snapshot): Promise<void> {
	const dropped: string[] = [];
	await writeOffline(key(threadId), JSON.parse(JSON.stringify({ messages: messages.slice(-MESSAGES_MAX), branches })));
	await updateOffline<string[]>(RECENT, (before = []) => {
		const recent = [threadId, ...before.filter((one) => one !== threadId)];
		dropped.push(...recent.slice(CONVERSATIONS_MAX));
		return recent.slice(0, CONVERSATIONS_MAX);
	});
	for (const one of dropped) await writeOffline(key(one), undefined);
}

/** The end of a conversation as it was last seen. */
export function readSnapshot(threadId: string): Promise<Snapshot | undefined> {
	return readOffline<Snapshot>(key(threadId));
}
