/** An audit shows an owner as the service showed it: at every position, and with every kind of record. */
import { afterEach, describe, expect, it } from 'vitest';
import { askFile } from '#src/audits/file-desk.ts';
import { openFileForAudits } from '#src/wiring/audit-file.ts';
import { expectProved, exported } from '../support/audit/export.ts';
import { seedOr } from '../support/seed.ts';
import { testApp, type TestApp } from '../support/world/app.ts';
import { randomFrom, randomHistory } from '../support/audit/random-history.ts';

let app: TestApp;
afterEach(() => app.close());

type Body = Record<string, never> & { data: Record<string, unknown>[] };

const read = async (path: string): Promise<Body> => {
  const { status, body, text } = (await app.desk('GET', path)) as {
    status: number;
    body: Body;
    text: string;
  };
  if (status !== 200) throw new Error(`${path}: ${text}`);
  return body;
};

const OWNER = 'acme';

/** What the live read models show now, by their own operations. */
const live = async (key: string) => {
  const of = async (path: string) => (await read(`${path}?owner_id=${OWNER}&limit=100`)).data;
  const byAgent = async (path: string) =>
    ((await app.send({ method: 'GET', url: `/api/affiliate/v1${path}`, key })) as { body: Body })
      .body;
  return {
    links: await of('/links'),
    handoffs: await of('/handoffs'),
    agents: await of('/agents'),
    keys: await of('/keys'),
    leads: (await byAgent('/leads?limit=100')).data,
  };
};

/** The same by an audit at a position. The lists of the desk leave out what only the record shows. */
const audited = async (position: number) => {
  const rows = async (kind: string) =>
    (await read(`/audit/state?owner_id=${OWNER}&at=${position}&kind=${kind}&limit=100`)).data.map(
      ({ record }) => record as Record<string, unknown>,
    );
  return {
    links: await rows('link'),
    handoffs: await rows('handoff'),
    agents: await rows('agent'),
    keys: await rows('key'),
    leads: await rows('lead'),
  };
};

const STATUSES = [
  'id',
  'status',
  'state',
  'version',
  'updated_at',
  'campaign',
  'title',
  'granted_scopes',
];
const shown = (records: Record<string, unknown>[]) =>
  records.map((record) => Object.fromEntries(STATUSES.map((name) => [name, record[name]])));
const allShown = (kinds: Record<string, Record<string, unknown>[]>) =>
  Object.fromEntries(Object.entries(kinds).map(([kind, records]) => [kind, shown(records)]));

describe('The state of an owner by replay', () => {
  it.each([1, 2, 3])(
    'The replayed state of an owner equals the live rows and as_of of every moment, and the answers of its exported file, with seed %i',
    async (seed) => {
      app = await testApp();
      const history = await randomHistory(app, OWNER, seedOr(seed));
      const { log } = app.service.deps;
      const moments: { position: number; at: number; rows: object; totals: object }[] = [];
      for (let step = 0; step < 60; step += 1) {
        await history.act();
        if (step % 4 > 0) continue;
        await app.service.deps.audit.flush();
        const rows = await live(history.key);
        const { body } = await app.send({
          method: 'GET',
          url: '/api/affiliate/v1/performance',
          key: history.key,
        });
        const { position } = await log.head();
        moments.push({
          position,
          at: app.clock.now(),
          rows,
          totals: (body as { totals: object }).totals,
        });
      }
      await expectProved(app, ['desk'], `seed=${seed}`);
      const file = await exported(app, OWNER);
      const { deps, file: opened } = await openFileForAudits(file);
      const random = randomFrom(seed);
      for (const { position, rows, totals, at } of moments.toSorted(() => random() - 0.5)) {
        // A suspended agent reads nothing, so there is nothing to compare with.
        if (totals === undefined) continue;
        const past = await audited(position);
        expect(allShown(past)).toEqual(allShown(rows as never));
        const asOf = `owner_id=${OWNER}&at=${position}`;
        const counted = await read(`/audit/performance?${asOf}`);
        expect(counted['totals']).toEqual(totals);
        const state = await read(`/audit/state?${asOf}&kind=performance`);
        expect(state['performance']).toMatchObject({ totals, data: counted.data });
        for (const [id, path, input] of [
          ['auditState', 'state', { at: String(position), limit: 100 }],
          [
            'auditPerformance',
            'performance',
            { at: String(position), group_by: ['campaign', 'country'] },
          ],
          [
            'auditDiff',
            'diff',
            { from: String(position), limit: 100, to: String(opened.about.up_to) },
          ],
          ['auditHistory', 'history', { to: String(position), limit: 100 }],
        ] as const) {
          const asked = { owner_id: OWNER, ...input };
          const query = new URLSearchParams(Object.entries(asked).map(([k, v]) => [k, String(v)]));
          const ofFile = await askFile(deps, id, { input: asked, requestId: 'r' });
          expect(ofFile).toMatchObject({ ok: true });
          const value = ofFile.ok && JSON.parse(JSON.stringify(ofFile.value));
          expect(value).toEqual(await read(`/audit/${path}?${query.toString()}`));
        }
        const byTime = await read(
          `/audit/state?owner_id=${OWNER}&at=${new Date(at).toISOString()}&kind=link`,
        );
        expect(byTime['as_of']).toMatchObject({ shown_at: new Date(at).toISOString() });
        expect(shown(byTime.data.map(({ record }) => record as never))).toEqual(shown(past.links));
      }
      opened.close();
    },
  );
});
