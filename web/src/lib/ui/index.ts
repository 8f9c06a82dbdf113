/**
 * The parts that pages are made of. `/parts` shows each of them in each of its states.
 *
 * The first page loads this: what needs `bits-ui` is behind `parts.ts`, or is imported by its own name, like `Tip`.
 */
export { default as Area } from './controls/TextArea.svelte';
export { default as Badge } from './feedback/Badge.svelte';
export { default as Button } from './controls/Button.svelte';
export { default as Choice } from './controls/SegmentedControl.svelte';
export { default as Dialog } from './overlay/Dialog.svelte';
export { default as Empty } from './feedback/EmptyState.svelte';
export { default as Field } from './controls/TextField.svelte';
export { default as IconButton } from './controls/IconButton.svelte';
export { default as Kbd } from './controls/Kbd.svelte';
export { default as Menu, type Act } from './controls/Menu.svelte';
export { default as Problem } from './feedback/ErrorMessage.svelte';
export { default as Sheet } from './overlay/Sheet.svelte';
export { default as Skeleton } from './feedback/Skeleton.svelte';
export { default as Tabs } from './controls/Tabs.svelte';
export { default as Toasts } from './feedback/Toasts.svelte';
export { toasts } from './feedback/toasts.svelte';
