import { describe, expect, it } from 'vitest';
import { NOT_BUILT, REQUIREMENTS } from './requirements.ts';
import { citedIn } from './support/source/cited.ts';
import { sourceFiles } from './support/source/tree.ts';

const files = sourceFiles('test').filter(({ path }) => path.endsWith('.test.ts'));
const all = files.map((file) => ({ path: file.path, ...citedIn(file) }));
const shown = new Set(all.flatMap((file) => file.shown));

describe('the specification', () => {
  it('Every statement of the specification has a test that always runs, or a dated line in the list of what is not built', () => {
    const bare = Object.keys(REQUIREMENTS).filter((id) => !shown.has(id) && !(id in NOT_BUILT));
    expect(bare).toEqual([]);
  });

  it('Tests cite only statements of the specification that exist', () => {
    const cited = all.flatMap((file) => [...file.shown, ...file.skipped]);
    expect(cited.filter((id) => !(id in REQUIREMENTS))).toEqual([]);
    expect(all.flatMap(({ path, astray }) => astray.map((id) => `${path}: ${id}`))).toEqual([]);
  });

  it('The list of what is not built names nothing that a test shows, and dates each entry', () => {
    for (const [id, { since }] of Object.entries(NOT_BUILT)) {
      expect(id in REQUIREMENTS, id).toBe(true);
      expect(shown.has(id), `${id} is shown: take it off the list`).toBe(false);
      expect(since).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    }
  });
});

describe('a statement', () => {
  const cited = (text: string) => citedIn({ path: 'a.test.ts', text });
  const call = "verifies('a', 'b')";
  const none = { shown: [], skipped: [], astray: [] };

  it.each([
    `it('does', () => { ${call}; });`,
    `describe('x', () => { describe.each([1])('y', () => { it('does', async () => { ${call}; }); }); });`,
    `it.each([1])('does', () => ${call});`,
    `test.concurrent('does', () => { if (true) ${call}; });`,
  ])('A statement is shown by %s', (text) => {
    expect(cited(text)).toEqual({ ...none, shown: ['a', 'b'] });
  });

  it.each([
    `it.skip('does', () => { ${call}; });`,
    `describe.skip('x', () => { it('does', () => { ${call}; }); });`,
    `describe.skipIf(!here)('x', () => { it.each([1])('does', () => { ${call}; }); });`,
    `it.todo('does', () => { ${call}; });`,
    `it.each([1]).skip('does', () => { ${call}; });`,
  ])('A statement is not shown by what may not run: %s', (text) => {
    expect(cited(text)).toEqual({ ...none, skipped: ['a', 'b'] });
  });

  it('A statement is not shown by a comment or a text, and not outside a test', () => {
    expect(cited(`// ${call}\nit('does', () => { const text = "${call}"; });`)).toEqual(none);
    expect(cited(`describe('x', () => { ${call}; });\n${call};`)).toEqual({
      ...none,
      astray: ['a', 'b', 'a', 'b'],
    });
  });
});
