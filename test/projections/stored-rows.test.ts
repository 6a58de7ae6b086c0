/** A row is the same whether or not a store had it between two events: an undefined member would be lost, and its place with it. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pino } from 'pino';
import { PROJECTIONS } from '#projections/index.ts';
import type { Projection } from '#projections/projection.ts';
import { readConfig } from '#src/config.ts';
import { demoClock } from '#src/demo/cast.ts';
import { ensureDemo } from '#src/demo/story.ts';
import { type FoldEvent, foldEventOf } from '#src/ports/event-log.ts';
import type { Row } from '#src/ports/read-model.ts';
import { systemClock } from '#src/system/ids.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { APPROVAL_ABOVE, atDesk, deskScenes, turn } from '../support/world/desk-scenes.ts';
import { configure } from '../support/world/outreach.ts';
import { directories } from '../support/processes/directories.ts';
import { openService } from '../support/world/open-service.ts';
import { UNLIMITED_APP } from '../support/unlimited.ts';

const directory = directories('tributary-stored-rows-');
const sources: Record<'the demo' | 'every write at the desk', FoldEvent[]> = {
  'the demo': [],
  'every write at the desk': [],
};

const eventsOf = async ({ log }: TestApp['service']['deps']): Promise<FoldEvent[]> => {
  const events = await log.readAll({ after: 0, limit: 100_000 });
  return events.map(foldEventOf);
};

beforeAll(async () => {
  const env = { LOG_LEVEL: 'silent', PORT: '0', ...UNLIMITED_APP };
  const config = { ...readConfig(env), dataDirectory: directory.fresh() };
  const clock = demoClock(systemClock());
  const log = pino({ level: 'silent' });
  const service = await openService(config, { clock, log, onLog: clock.begin });
  await ensureDemo(service, clock);
  sources['the demo'] = await eventsOf(service.deps);
  await service.close();

  const app = await testApp({
    OUTREACH_PER_MINUTE: '100000',
    WRITES_PER_MINUTE: '100000',
    APPROVAL_ABOVE: `${APPROVAL_ABOVE / 100} GBP`,
  });
  await app.publish([feedProduct('MUG-1')]);
  await configure(app, 'acme');
  const { shownOnce, repeated } = deskScenes(app, (await app.agent('acme')).key);
  for (const make of Object.values({ ...shownOnce, ...repeated })) {
    const { first, later } = await make();
    const answer = await atDesk(app, first);
    await atDesk(app, later((answer.body as { id: string }).id));
    for (const owner of ['acme', undefined]) await atDesk(app, turn('resume', owner));
    await configure(app, 'acme');
  }
  sources['every write at the desk'] = await eventsOf(app.service.deps);
  await app.close();
});
afterAll(() => directory.removeAll());

/** Rows as they stay in memory, or as a store gives them back after each event. */
const rowsOf = (projection: Projection, isStored: boolean) => {
  const rows = new Map<string, Row>();
  const put = (place: string, row: Row | null): void => {
    if (row === null) rows.delete(place);
    else rows.set(place, isStored ? (JSON.parse(JSON.stringify(row)) as Row) : row);
  };
  return (event: FoldEvent): Record<string, Row> | undefined => {
    const place = projection.place(event);
    if (!place) return undefined;
    const at = (key: string): string => `${place.scope} ${key}`;
    const others = {
      get: (key: string) => rows.get(at(key)),
      load: () => undefined,
      set: (key: string, row: Row | null) => put(at(key), row),
    };
    // Each side folds an event of its own, which a row may keep a part of.
    put(at(place.key), projection.evolve(rows.get(at(place.key)), structuredClone(event), others));
    return Object.fromEntries(rows);
  };
};

it.each(
  Object.keys(sources).flatMap((source) =>
    PROJECTIONS.map(({ name }) => [name, source as keyof typeof sources] as const),
  ),
)('A row of %s, from %s, is the same when it was stored between two events', (name, source) => {
  // Scenes about parked events make some that cannot be folded.
  const events = sources[source].filter(({ owner }) => !owner.startsWith('poisoned'));
  expect(events.length).toBeGreaterThan(200);
  const projection = PROJECTIONS.find((one) => one.name === name);
  if (!projection) throw new Error(name);
  const [live, stored] = [rowsOf(projection, false), rowsOf(projection, true)];
  for (const event of events) {
    if (!projection.handles.includes(event.type as never)) continue;
    const before = live(event);
    const after = stored(event);
    const at = `${event.type} at ${event.position}`;
    expect(JSON.stringify(before), at).toBe(JSON.stringify(after));
  }
});
