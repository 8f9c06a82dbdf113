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
	inbox: (requestId?: string) => withQuery('/inbox', { request: requestId }),
	tasks: (at: { new?: boolean } = {}) => withQuery('/tasks', { new: at.new ? '1' : undefined }),
	task: (taskId: string, view?: string, place: { at?: number; find?: string } = {}) =>
		withQuery(`/tasks/${encodeURIComponent(taskId)}`, { view, at: place.at?.toString(), find: place.find }),
	search: (query?: string) => withQuery('/search', { q: query }),
	memory: (itemId?: string) => (itemId ? `/memory/${encodeURIComponent(itemId)}` : '/memory'),
	lessons: (lessonId?: string) =>
		lessonId ? `/lessons/${encodeURIComponent(lessonId)}` : '/lessons',
	crew: (sort: string, name: string) => `/lessons/${sort}/${encodeURIComponent(name)}`,
	inspect: (contextId: string, threadId?: string) => withQuery(`/inspect/${encodeURIComponent(contextId)}`, { thread: threadId }),
	branches: (threadId: string = HOME) => `/branches/${encodeURIComponent(threadId)}`,
	worlds: (view?: string, query: Record<string, string | undefined> = {}) => withQuery('/worlds', { view, ...query }),
	world: (worldId: string, view?: string, query: Record<string, string | undefined> = {}) =>
		withQuery(`/worlds/${encodeURIComponent(worldId)}`, { view, ...query }),
	devices: () => '/devices',
	settings: (section?: string) => (section ? `/settings#${section}` : '/settings'),
	usage: () => '/usage',
	health: () => '/health',
	docs: () => '/docs',
	components: () => '/components'
};
