import { expect, it } from 'vitest';
import { isSameValue, nextVersion } from '#src/shared/decider.ts';
import { isOneName } from '#src/shared/person.ts';

it('Values are equal regardless of the order of members and of undefined members', () => {
  expect(isSameValue({ a: 1, b: [2] }, { b: [2], a: 1, c: undefined })).toBe(true);
  expect(isSameValue({ c: 1, a: 2, b: 3 }, { b: 3, c: 1, a: 2 })).toBe(true);
  expect(isSameValue(['a', 'b'], ['a', 'b'])).toBe(true);
  expect(isSameValue('a', 'a')).toBe(true);
  expect(isSameValue(undefined, undefined)).toBe(true);
});

it.each([
  [{ a: 1 }, { a: 2 }],
  [{ a: 1 }, { a: 1, b: 1 }],
  [{ a: 1 }, { b: 1 }],
  [
    ['a', 'b'],
    ['b', 'a'],
  ],
  ['a', 'b'],
  [{}, undefined],
  [undefined, {}],
  [null, {}],
  [{}, null],
  [{}, 'a'],
  ['', {}],
])('The values %j and %j are not equal', (one, other) => {
  expect(isSameValue(one, other)).toBe(false);
});

it('Two names denote one person if they differ only in case, width or white space', () => {
  expect(isOneName('Dana Owner', ' ｄａｎａ\u00a0 OWNER\n')).toBe(true);
  expect(isOneName('Dana Owner', 'DanaOwner')).toBe(false);
  expect(isOneName('Dana Owner', 'Dana Other')).toBe(false);
  expect(isOneName('ǰ', '\u01f0'.toUpperCase())).toBe(true);
});

it('The next version of a record has the later of two times, whichever is first', () => {
  const at = (updated_at: number) => ({ created_at: 0, updated_at, version: 4 });
  expect(nextVersion(at(1), 2)).toEqual({ updated_at: 2, version: 5 });
  expect(nextVersion(at(2), 1)).toEqual({ updated_at: 2, version: 5 });
});
