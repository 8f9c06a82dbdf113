import { expect, it } from 'vitest';
import { sendsKeyInTheClear } from './plain-http';

it('warns about plain http to another machine', () => {
	const exposed = ['http://192.168.1.5:8000/v1', 'gpu.example.org:8000', 'http://127.0.0.1.example.org', 'HTTP://box.lan/v1'];
	expect(exposed.filter(sendsKeyInTheClear)).toEqual(exposed);
});

it('says nothing about https and this machine', () => {
	const safe = ['', 'https://gpu.example.org/v1', 'http://127.0.0.1:11434/v1', 'localhost:8080', 'http://[::1]:8000/v1', 'http://a b'];
	expect(safe.filter(sendsKeyInTheClear)).toEqual([]);
});
