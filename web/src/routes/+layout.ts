// A shell that runs in the browser alone: the engine renders nothing.
export const ssr = false;
export const prerender = false;
