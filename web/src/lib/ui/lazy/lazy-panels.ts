/** Parts that a first look does not show: they are fetched when one is opened, or before, when there is time. */
export const parts = {
	dialog: () => import('../overlay/DialogPanel.svelte'),
	menu: () => import('../controls/MenuList.svelte'),
	sheet: () => import('../overlay/SheetPanel.svelte')
};
