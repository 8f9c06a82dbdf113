import { expect, it } from 'vitest';
import { splitCommand } from './command-line';

it('splits words as a shell does', () => {
	expect(splitCommand('npm  test -- --run')).toEqual(['npm', 'test', '--', '--run']);
	expect(splitCommand(`sh -c "make && echo 'done'"`)).toEqual(['sh', '-c', "make && echo 'done'"]);
	expect(splitCommand(`a\\ b 'c "d"' e"f"g ""`)).toEqual(['a b', 'c "d"', 'efg', '']);
	expect(splitCommand('  ')).toEqual([]);
});

it('knows that a quote is still open', () => {
	expect(splitCommand('sh -c "make')).toBeNull();
});
