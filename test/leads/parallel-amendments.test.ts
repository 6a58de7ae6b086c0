/** Amendments of one lead that arrive at the same time, at one process and at two. */
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { leadIdOf, streamOf } from '#src/writing/streams.ts';
import { endStandIns, standIn } from '../support/eventstoredb/start.ts';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { HANG_MS } from '../support/hang.ts';

const AMENDMENTS = 32;
const ROOT_KEY = Buffer.alloc(32, 6).toString('base64');

const opened: TestApp[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((app) => app.close()));
});
afterAll(endStandIns);

const open = async (env: Record<string, string>): Promise<TestApp> => {
  const app = await testApp(env);
  opened.push(app);
  return app;
};

const amend = (app: TestApp, key: string, name: string) =>
  app.send({
    method: 'POST',
    url: '/api/affiliate/v1/leads',
    key,
    payload: { external_id: 'crm-1', company: { name, country: 'GB' } },
    headers: { 'idempotency-key': freshKey() },
  });

/** Amends one lead over all processes at once; returns the statuses of the answers and the events of the lead. */
const amendAtOnce = async (apps: readonly TestApp[]) => {
  const [first] = apps;
  if (!first) throw new Error('no process');
  const { key } = await first.agent('acme');
  await amend(first, key, 'Corner Shop');
  const { position } = await first.service.deps.log.head();
  for (const { service } of apps) await service.deps.following.passed(position, HANG_MS);
  const answers = await Promise.all(
    Array.from({ length: AMENDMENTS }, (_, n) =>
      amend(apps[n % apps.length] ?? first, key, `Shop ${n}`),
    ),
  );
  const stream = streamOf('acme', 'lead', leadIdOf('acme', 'crm-1'));
  const events = await first.service.deps.log.readStream(stream);
  const statuses = new Set(answers.map(({ status }) => status));
  return { statuses: [...statuses], versions: events.length - 1 };
};

describe(`${AMENDMENTS} amendments of one lead at once`, () => {
  it(`${AMENDMENTS} amendments of one lead at once all succeed on an embedded log`, async () => {
    const app = await open({});
    expect(await amendAtOnce([app])).toEqual({ statuses: [200], versions: AMENDMENTS });
  });

  it.each([1, 2])(
    'Many amendments of one lead at once all succeed over %i processes on the stand-in of EventStoreDB',
    async (count) => {
      const { url } = await standIn();
      const apps: TestApp[] = [];
      for (let n = 0; n < count; n++) apps.push(await open({ EVENT_LOG_URL: url, ROOT_KEY }));
      expect(await amendAtOnce(apps)).toEqual({ statuses: [200], versions: AMENDMENTS });
    },
  );
});
