import { expect, test } from 'vitest';
import type { Schema } from '$lib/api/client';
import { describeMemory } from './describe-memory';

const now = Date.parse('2026-03-04T10:00:00Z');
const item = (part: object) =>
	({ kind: 'fact', author: 'user', learned_via: 'told', happened_at: '2026-03-01T12:00:00', retired: false, pinned: false, holds_until: null, contradicts: [], ...part }) as unknown as Schema<'ItemOut'>;

test('a memory is described in one sentence', () => {
	expect(describeMemory(item({}), now)).toMatch(/^You saved this on .*2026; answers can use it\.$/);
	expect(describeMemory(item({ pinned: true }), now)).toMatch(/it is pinned, so it comes first\.$/);
	expect(describeMemory(item({ retired: true }), now)).toMatch(/archived, so answers no longer use it\.$/);
	expect(describeMemory(item({ contradicts: ['mem-2'] }), now)).toMatch(/another memory contradicts it\.$/);
	expect(describeMemory(item({ kind: 'summary', author: 'engine' }), now)).toMatch(/^Everloop summarised this/);
	expect(describeMemory(item({ author: 'agent:thread' }), now)).toMatch(/^Everloop saved this/);
	expect(describeMemory(item({ holds_until: '2026-03-02T00:00:00Z' }), now)).toContain('it has expired');
});
