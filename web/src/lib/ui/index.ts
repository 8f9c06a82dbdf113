/**
 * The components that pages are built from. `/components` shows each of them in each of its states.
 *
 * The first page loads this file, so it may not import `bits-ui`: what needs it is loaded by `lazy/lazy-panels.ts` or imported by path,
 * like `overlay/Tooltip.svelte`.
 */
export { default as Button } from './controls/Button.svelte';
export { default as IconButton } from './controls/IconButton.svelte';
export { default as Kbd } from './controls/Kbd.svelte';
export { default as Menu, type MenuItem } from './controls/Menu.svelte';
export { default as SegmentedControl } from './controls/SegmentedControl.svelte';
export { default as Tabs } from './controls/Tabs.svelte';
export { default as TextArea } from './controls/TextArea.svelte';
export { default as TextField } from './controls/TextField.svelte';
export { default as Badge } from './feedback/Badge.svelte';
export { default as EmptyState } from './feedback/EmptyState.svelte';
export { default as ErrorMessage } from './feedback/ErrorMessage.svelte';
export { default as Skeleton } from './feedback/Skeleton.svelte';
export { default as Toasts } from './feedback/Toasts.svelte';
export { toasts } from './feedback/toasts.svelte';
export { default as Dialog } from './overlay/Dialog.svelte';
export { default as Sheet } from './overlay/Sheet.svelte';
