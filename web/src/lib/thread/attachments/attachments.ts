/** Attachments of messages: address, size, and whether they can be shown. */
import { withTicket } from '$lib/api/device-key.svelte';
import { untrack } from 'svelte';
import type { Attachment } from '../types';

const SHOWN = /^image\/(png|jpeg|gif|webp|avif)$/;

/** Whether it can be shown on the page. An SVG can contain scripts, so it is downloaded instead. */
export function isImage(file: Attachment): boolean {
	return SHOWN.test(file.media_type);
}

export function attachmentUrl(file: Attachment): string {
	const query = new URLSearchParams({ name: file.name, media_type: file.media_type });
	return untrack(() => withTicket(`/api/files/${encodeURIComponent(file.digest)}?${query}`)); // a new ticket reloads no picture
}

export function formatBytes(bytes: number): string {
	if (bytes < 1_000) return `${bytes} B`;
	if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} kB`;
	return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
