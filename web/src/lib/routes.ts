/** Every address of the interface, so that no page spells one by hand. */
export const HOME = 'home';

const withQuery = (path: string, query: Record<string, string | undefined>): string => {
	const params = new URLSearchParams();
	for (const [name, value] of Object.entries(query)) if (value) params.set(name, value);
	const text = params.toString();
	return text ? `${path}?${text}` : path;
};

export const routes = {
	thread: (threadId: string = HOME, at: { message?: string; day?: string } = {}) =>
		withQuery(threadId === HOME ? '/' : `/t/${encodeURIComponent(threadId)}`, at),
	search: (query?: string) => withQuery('/search', { q: query }),
	memory: (itemId?: string) => (itemId ? `/memory/${encodeURIComponent(itemId)}` : '/memory'),
	lessons: (lessonId?: string) =>
		lessonId ? `/lessons/${encodeURIComponent(lessonId)}` : '/lessons',
	crew: (sort: string, name: string) => `/lessons/${sort}/${encodeURIComponent(name)}`,
	inspect: (contextId: string, threadId?: string) => withQuery(`/inspect/${encodeURIComponent(contextId)}`, { thread: threadId }),
	branches: (threadId: string = HOME) => `/branches/${encodeURIComponent(threadId)}`,
	devices: () => '/devices',
	settings: () => '/settings',
	usage: () => '/usage',
	components: () => '/components'
};
