/** Files beside messages: where they are, and how large. */
import type { Attachment } from '../types';

const SHOWN = /^image\/(png|jpeg|gif|webp|avif)$/;

/** Whether it can be shown on the page. An SVG can hold scripts and is saved instead. */
export function isPicture(file: Attachment): boolean {
	return SHOWN.test(file.media_type);
}

export function addressOf(file: Attachment): string {
	const asked = new URLSearchParams({ name: file.name, media_type: file.media_type });
	return `/api/files/${encodeURIComponent(file.digest)}?${asked}`;
}

export function sizeInWords(bytes: number): string {
	if (bytes < 1_000) return `${bytes} B`;
	if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} kB`;
	return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
