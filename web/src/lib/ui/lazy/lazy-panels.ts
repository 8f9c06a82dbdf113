/** Components that the first page does not show: loaded when one is opened, or earlier when the browser is idle. */
export const lazyPanels = {
	dialog: () => import('../overlay/DialogPanel.svelte'),
	menu: () => import('../controls/MenuList.svelte'),
	sheet: () => import('../overlay/SheetPanel.svelte')
};
