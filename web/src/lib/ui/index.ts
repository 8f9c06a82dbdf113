/**
 * The parts that pages are made of. `/parts` shows each of them in each of its states.
 *
 * The first page loads this: what needs `bits-ui` is behind `parts.ts`, or is imported by its own name, like `Tip`.
 */
export { default as Area } from './Area.svelte';
export { default as Badge } from './Badge.svelte';
export { default as Button } from './Button.svelte';
export { default as Choice } from './Choice.svelte';
export { default as Dialog } from './Dialog.svelte';
export { default as Empty } from './Empty.svelte';
export { default as Field } from './Field.svelte';
export { default as IconButton } from './IconButton.svelte';
export { default as Kbd } from './Kbd.svelte';
export { default as Menu, type Act } from './Menu.svelte';
export { default as Problem } from './Problem.svelte';
export { default as Sheet } from './Sheet.svelte';
export { default as Skeleton } from './Skeleton.svelte';
export { default as Tabs } from './Tabs.svelte';
export { default as Toasts } from './Toasts.svelte';
export { toasts } from './toasts.svelte';
