// Client-side only: the server renders nothing.
export const ssr = false;
export const prerender = false;
