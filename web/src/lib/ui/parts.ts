/** Parts that a first look does not show: they are fetched when one is opened, or before, when there is time. */
export const parts = {
	dialog: () => import('./DialogPanel.svelte'),
	menu: () => import('./MenuList.svelte'),
	sheet: () => import('./SheetPanel.svelte')
};
