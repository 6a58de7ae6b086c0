/** `--demo` performs the same story, with the same answers, on embedded stores and on servers. */
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '#src/config.ts';
import { demoClock } from '#src/demo/cast.ts';
import type { DemoFacts } from '#src/demo/facts.ts';
import { ensureDemo } from '#src/demo/story.ts';
import type { Service } from '#src/main.ts';
import { shareSecrets } from '../../support/world/new-secrets.ts';
import { openService } from '../../support/world/open-service.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import type { Ids } from '#src/ports/system.ts';
import { untilServed } from '../../support/clients/cli.ts';
import { directories } from '../../support/processes/directories.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';
import { endRemote, remoteWorld } from '../../support/processes/remote.ts';
import { UNLIMITED } from '../../support/unlimited.ts';
import { HANG_MS } from '../../support/hang.ts';

const ROOT_KEY = Buffer.alloc(32, 5).toString('base64');
const NOW = Date.parse('2026-11-21T12:00:00Z');
const PAGES_MAX = 20;
/** Ids that the story makes, of more than 2,000, before Redis stops to answer, and for how long. */
const IDS_BEFORE_PAUSE = 400;
const PAUSE_MS = 3_000;

const temporary = directories('tributary-demo-same-');

type Demo = { service: Service; facts: DemoFacts; deskToken: string; directory: string };

/** Performs the story on these stores, with a clock that does not advance. */
const openDemo = async (settings: Record<string, string>, ids = countedIds()): Promise<Demo> => {
  const directory = temporary.fresh();
  const config = readConfig({
    DATA_DIR: directory,
    PUBLIC_URL: 'https://t.example',
    ...UNLIMITED,
    ROOT_KEY,
    ...settings,
  });
  const clock = demoClock({ now: () => NOW, monotonic: () => performance.now() });
  const log = pino({ level: 'silent' });
  const service = await openService(config, { clock, log, ids, onLog: clock.begin });
  const { following } = service.deps;
  const passed: typeof following.passed = (position, ms, scope) =>
    following.passed(position, Math.max(ms, HANG_MS), scope);
  const deps = { ...service.deps, following: { ...following, passed } };
  const facts = await ensureDemo({ ...service, deps }, clock);
  if (!facts) throw new Error('the story was not performed');
  const deskToken = readFileSync(join(directory, 'desk.token'), 'utf8').trim();
  return { service, facts, deskToken, directory };
};

/**
 * Ids that are the same in every run. Audit records are batched by real time, so that their number varies; their
 * ids come from a separate counter, because otherwise all other ids would depend on that number.
 */
const countedIds = (): Ids => {
  let [uuids, codes, auditIds] = [0, 0, 0];
  const uuidOf = (n: number, kind: string): string =>
    `01900000-0000-7000-${kind}-${n.toString(16).padStart(12, '0')}`;
  return {
    uuid() {
      if (new Error('who').stack?.includes('/calls/audit.ts'))
        return uuidOf((auditIds += 1), '9000');
      return uuidOf((uuids += 1), '8000');
    },
    base62: (count) => (codes += 1).toString(36).padStart(count, 'A'),
  };
};

/** Hides what differs between logs: positions, cursors and tokens, and sealed texts, which are salted. */
const masked = (text: string): string =>
  text
    .replaceAll(/("(?:position|head|checkpoint)":)\d+/g, '$1N')
    .replaceAll(/("(?:next_)?(?:cursor|before)":)(?:"[^"]+"|\d+)/g, '$1C')
    .replaceAll(/"s1\.[^"]+"/g, '"SEALED"');

type Request = { url: string; as: 'agent' | 'staff' | 'buyer'; accept?: string };
const AGENT = '/api/affiliate/v1';
const DESK = '/api/desk/v1';
const REQUESTS: readonly Request[] = [
  { url: `${AGENT}/connection`, as: 'agent' },
  { url: `${AGENT}/products?q=candle&facets=category`, as: 'agent' },
  { url: `${AGENT}/products?q=mug&at_quantity=48`, as: 'agent' },
  { url: `${AGENT}/leads?limit=100`, as: 'agent' },
  { url: `${AGENT}/performance?granularity=week&group_by=campaign`, as: 'agent' },
  { url: `${AGENT}/performance?granularity=day`, as: 'agent' },
  { url: `${AGENT}/performance`, as: 'agent', accept: 'text/csv' },
  { url: `${DESK}/agents?owner_id=northwind`, as: 'staff' },
  { url: `${DESK}/keys?owner_id=northwind`, as: 'staff' },
  { url: `${DESK}/links?owner_id=northwind&limit=100`, as: 'staff' },
  { url: `${DESK}/handoffs?owner_id=northwind&limit=100`, as: 'staff' },
  { url: `${DESK}/approvals`, as: 'staff' },
  { url: `${DESK}/outreach/northwind`, as: 'staff' },
];

const answers = async ({ service, facts, deskToken }: Demo): Promise<string[]> => {
  const { audit, log, following } = service.deps;
  const texts: string[] = [];
  const pages = [...REQUESTS, { url: facts.review_path ?? '/', as: 'buyer' as const }];
  for (const { url, as, accept } of pages) {
    // Some answers count earlier calls, whose audit records are written by real time.
    await audit.flush();
    expect(await following.passed((await log.head()).position, HANG_MS)).toBe(true);
    const key = { agent: facts.api_key, staff: deskToken, buyer: undefined }[as];
    const headers = { ...(key && { authorization: `Bearer ${key}` }), ...(accept && { accept }) };
    const { status, body } = await untilServed(async () => {
      const { statusCode, body } = await service.server.inject({ method: 'GET', url, headers });
      return { status: statusCode, body };
    });
    texts.push(`${as === 'buyer' ? 'the buyer' : url}\n${status}\n${masked(body)}`);
  }
  return texts;
};

/** Returns the events without audit records, which are batched by real time. */
const story = async ({ service }: Demo): Promise<string[]> => {
  const { log } = service.deps;
  const all: StoredEvent[] = [];
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const page = await log.readAll({ after: all.at(-1)?.position ?? 0, limit: 1_000 });
    if (page.length === 0) break;
    all.push(...page);
  }
  return all
    .filter(({ type }) => type !== 'ActivityRecorded')
    .map(({ owner, type, data, meta: { at, surface, operation, actor } }) =>
      masked(JSON.stringify({ owner, type, at, surface, operation, actor, data })),
    );
};

/** Refused attempts are on record, too. */
const isAct = (event: string): boolean => !event.includes('"CallsAudited"');

describe.skipIf(!hasRedis)(`the demo on servers, ${ON_REDIS},`, () => {
  let embedded: Demo;
  let remote: Demo;
  beforeAll(async () => {
    const { log, redis } = await remoteWorld();
    embedded = await openDemo({});
    await shareSecrets(embedded.directory, { url: log.url, rootKey: ROOT_KEY });
    remote = await openDemo({ EVENT_LOG_URL: log.url, READ_MODEL_URL: redis.url.href });
  });
  afterAll(async () => {
    await Promise.all([embedded.service.close(), remote.service.close()]);
    await endRemote();
    temporary.removeAll();
  });

  it('The demo on servers has the same events at the same times as the embedded demo', async () => {
    const [here, there] = [await story(embedded), await story(remote)];
    expect(here.length).toBeGreaterThan(500);
    for (const [i, event] of there.entries()) expect(event, `event ${i}`).toBe(here[i]);
    expect(there.length).toBe(here.length);
  });

  it('The demo on servers gives the same answers as the embedded demo, byte for byte', async () => {
    const [here, there] = [await answers(embedded), await answers(remote)];
    for (const answer of here) expect(answer.split('\n')[1], answer.slice(0, 300)).toBe('200');
    for (const [i, answer] of there.entries()) expect(answer).toBe(here[i]);
  });

  it('The demo on servers performs the whole story when Redis does not answer for some seconds', async () => {
    const { log, redis } = await remoteWorld();
    const ids = countedIds();
    let rest = IDS_BEFORE_PAUSE;
    const uuid = (): string => {
      rest -= 1;
      if (rest === 0) void redis.control.call('CLIENT', 'PAUSE', String(PAUSE_MS), 'ALL');
      return ids.uuid();
    };
    const settings = { EVENT_LOG_URL: log.url, READ_MODEL_URL: redis.url.href };
    const paused = await openDemo(settings, { ...ids, uuid });
    const [here, there] = [await story(embedded), await story(paused)];
    await paused.service.close();
    expect(rest).toBeLessThan(0);
    expect(there.filter(isAct).length).toBe(here.filter(isAct).length);
  });
});
