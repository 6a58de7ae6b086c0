/** Pages of large events: no read takes the memory, or the turn of the event loop, that all of them need. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NO_STREAM } from '#src/ports/event-log.ts';
import { sqliteEventLog, type SqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { bound } from '../../conformance/log-events.ts';
import { directories } from '../../support/processes/directories.ts';

const { fresh, removeAll } = directories('log-pages-');

/** Together several pages. */
const EVENTS = 60;
const CHARS = 100_000;
const LIMIT = 1_000;

const directory = fresh();
const open = (): SqliteEventLog => sqliteEventLog({ directory });
let log = open();
const all = Array.from({ length: EVENTS }, (_, n) => n + 1);

beforeAll(async () => {
  for (const n of all) {
    const event = bound(String(n).padStart(n % 7 === 0 ? 10 : CHARS, 'x'));
    await log.append(`${n % 3 === 0 ? 'ben' : 'anna'}-lead_${n}`, NO_STREAM, [event]);
  }
});
afterAll(async () => {
  await log.close();
  removeAll();
});

const types = ['RequestBound'];
const anna = all.filter((n) => n % 3 > 0);
type Page = { position: number }[];
const READS: Record<string, { of: number[]; read(after: number): Promise<Page> }> = {
  readAll: { of: all, read: (after) => log.readAll({ after, limit: LIMIT }) },
  'readAll of a type': { of: all, read: (after) => log.readAll({ after, limit: LIMIT, types }) },
  readFold: { of: all, read: (after) => log.readFold({ after, limit: LIMIT }) },
  readOwner: { of: anna, read: (after) => log.readOwner('anna', { after, limit: LIMIT }) },
  readOwnerText: { of: anna, read: (after) => log.readOwnerText('anna', { after, limit: LIMIT }) },
  readOwnerFold: { of: anna, read: (after) => log.readOwnerFold('anna', { after, limit: LIMIT }) },
};

test.each(Object.keys(READS))(
  'Pages of %s end early where events are large, and have all of them together',
  async (name) => {
    const { of, read } = READS[name] as (typeof READS)[string];
    const pages: number[][] = [];
    for (let after = 0; ; ) {
      const page = (await read(after)).map(({ position }) => position);
      if (page.length === 0) break;
      pages.push(page);
      after = page.at(-1) ?? 0;
    }
    expect(pages.flat()).toEqual(of);
    expect(pages.length).toBeGreaterThan(2);
  },
);

test.each([
  ['all owners', undefined, all],
  ['one owner', 'anna', anna],
] as const)(
  'Pages of readBack of %s end early where events are large, and have all of them together',
  async (_name, owner, of) => {
    const pages: number[][] = [];
    for (let upTo = EVENTS; ; ) {
      const range = { upTo, limit: LIMIT, ...(owner !== undefined && { owner }) };
      const page = (await log.readBack(range)).map(({ position }) => position);
      if (page.length === 0) break;
      pages.unshift(page);
      upTo = (page[0] ?? 1) - 1;
    }
    expect(pages.flat()).toEqual(of);
    expect(pages.length).toBeGreaterThan(2);
  },
);

test('The fault of a damaged record has its position, also after pages that end early', async () => {
  const damagedAt = 50;
  await log.close();
  const db = new DatabaseSync(join(directory, 'log.db'));
  db.exec(`UPDATE events SET data = replace(data, 'x', 'y') WHERE position = ${damagedAt}`);
  db.close();
  expect(() => open()).toThrow(/position 50/);
  log = sqliteEventLog({ directory, checkedAtOpen: 5 });
  expect(await log.verify()).toMatchObject({ fault: { position: damagedAt } });
});
