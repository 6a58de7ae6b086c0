import { describe, expect, it } from 'vitest';
import { NOT_BUILT, REQUIREMENTS } from './requirements.ts';
import { sourceFiles } from './support/house.ts';

const cited = new Set(
  sourceFiles('test')
    .filter(({ path }) => path.endsWith('.test.ts') && path !== 'test/requirements.test.ts')
    .flatMap(({ text }) =>
      [...text.matchAll(/\bverifies\(([^)]*)\)/g)].flatMap(([, list = '']) =>
        [...list.matchAll(/'([^']+)'/g)].map(([, id = '']) => id),
      ),
    ),
);

describe('the specification', () => {
  it('has a test for every statement, or a dated line in the list of what is not built', () => {
    const bare = Object.keys(REQUIREMENTS).filter((id) => !cited.has(id) && !(id in NOT_BUILT));
    expect(bare).toEqual([]);
  });

  it('is cited by statements that exist', () => {
    expect([...cited].filter((id) => !(id in REQUIREMENTS))).toEqual([]);
  });

  it('lists nothing as missing that a test shows, and dates what it lists', () => {
    for (const [id, { since }] of Object.entries(NOT_BUILT)) {
      expect(id in REQUIREMENTS, id).toBe(true);
      expect(cited.has(id), `${id} is shown: take it off the list`).toBe(false);
      expect(since).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    }
  });
});
