import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { serviceLog } from '#src/calls/log.ts';
import { timeline } from '#src/writing/timeline.ts';
import { observedStore } from '#src/wiring/read-models.ts';
import { prometheusMetrics } from '#src/system/metrics.ts';
import { measureLags } from '#src/reading/lag.ts';
import { serverOver } from '../support/world/server-over.ts';
import { type EventLog, type FoldEvent, LogUnavailable } from '#src/ports/event-log.ts';
import type { Metrics } from '#src/ports/metrics.ts';
import type { RemoteStore } from '#src/ports/read-model.ts';
import { testApp, type TestApp } from '../support/world/app.ts';

/** Returns the sample with this name and these labels, or NaN. */
const sample = (text: string, name: string, labels: Record<string, string> = {}): number => {
  for (const line of text.split('\n')) {
    const [, sampleName, sampleLabels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    const fits = Object.entries(labels).every(([label, is]) =>
      sampleLabels.includes(`${label}="${is}"`),
    );
    if (sampleName === name && fits) return Number(value);
  }
  return Number.NaN;
};

let app: TestApp;
let server: ReturnType<typeof serverOver>;
let metrics: Metrics;
beforeAll(async () => {
  app = await testApp();
  metrics = prometheusMetrics();
  const { deps } = app.service;
  const log = serviceLog(deps.log, {
    timeline: timeline(deps.clock),
    metrics,
    monotonic: deps.clock.monotonic,
  });
  server = serverOver({ ...deps, log, metrics });
});
afterAll(async () => {
  await server.close();
  await app.close();
});

const scrape = async (): Promise<string> => {
  const answer = await server.inject({ method: 'GET', url: '/metrics' });
  expect(answer.statusCode).toBe(200);
  expect(answer.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
  return answer.body;
};

describe('/metrics', () => {
  it('`/metrics` counts requests by surface, operation and outcome, and appends by outcome', async () => {
    const { key, keyId, agentId } = await app.agent('acme');
    const headers = { authorization: `Bearer ${key}` };
    const before = await scrape();
    await server.inject({ method: 'GET', url: '/api/affiliate/v1/leads', headers });
    await server.inject({ method: 'GET', url: '/api/affiliate/v1/leads?nonsense=1', headers });
    const lead = { external_id: 'crm-1', company: { name: 'Buyer Ltd', country: 'GB' } };
    const write = await server.inject({
      method: 'POST',
      url: '/api/affiliate/v1/leads',
      headers: { ...headers, 'idempotency-key': 'metrics-1' },
      payload: lead,
    });
    expect(write.statusCode, write.body).toBe(201);
    const text = await scrape();
    const of = (operation: string, outcome: string): number =>
      sample(text, 'tributary_requests_total', { surface: 'rest', operation, outcome });
    expect(of('listLeads', 'ok')).toBe(1);
    expect(of('listLeads', 'refused')).toBe(1);
    expect(of('submitLead', 'ok')).toBe(1);
    expect(sample(text, 'tributary_request_seconds_count', { surface: 'rest' })).toBe(3);
    const appends = (from: string): number =>
      sample(from, 'tributary_appends_total', { outcome: 'appended' }) || 0;
    // The lead and the claim of its key are one append.
    expect(appends(text) - appends(before)).toBe(1);
    expect(sample(text, 'tributary_log_up')).toBe(1);
    for (const name of ['lag_events', 'skipped'])
      expect(sample(text, `tributary_projection_${name}`, { projection: 'leads' })).toBe(0);
    expect(sample(text, 'process_resident_memory_bytes')).toBeGreaterThan(1_000_000);
    for (const secret of ['acme', key, keyId, agentId, 'Buyer Ltd', 'crm-1'])
      expect(text).not.toContain(secret);
  });

  it('`/metrics` has few label values, regardless of the paths that clients request', async () => {
    for (const path of ['/l/made-up', '/made-up', '/another/made-up', '/api/affiliate/v1/made-up'])
      await server.inject({ method: 'GET', url: path });
    const text = await scrape();
    expect(text).not.toContain('made-up');
    expect(sample(text, 'tributary_requests_total', { surface: 'none' })).toBeGreaterThan(1);
  });

  it('`/metrics` counts calls over MCP', async () => {
    const { key } = await app.agent('beta');
    await server.inject({
      method: 'POST',
      url: '/api/affiliate/mcp',
      headers: {
        authorization: `Bearer ${key}`,
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-11-25',
      },
      payload: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'list_leads', arguments: {} },
      },
    });
    const labels = { surface: 'mcp', operation: 'listLeads', outcome: 'ok' };
    expect(sample(await scrape(), 'tributary_calls_total', labels)).toBe(1);
  });

  it('`/metrics` is generated once for concurrent requests, and again for the next request', async () => {
    const generated = vi.spyOn(metrics, 'text');
    const ask = () => server.inject({ method: 'GET', url: '/metrics' });
    const texts = await Promise.all(Array.from({ length: 50 }, ask));
    expect(new Set(texts.map(({ body }) => body)).size).toBeLessThan(5);
    const calls = generated.mock.calls.length;
    expect(calls).toBeLessThan(5);
    await scrape();
    expect(generated).toHaveBeenCalledTimes(calls + 1);
    generated.mockRestore();
  });

  it('`/metrics` reports tributary_log_up 0 and no lag while the log is unavailable', async () => {
    const { deps } = app.service;
    const away = async () => Promise.reject(new LogUnavailable('fault', 'no', 'away'));
    const log = { ...deps.log, head: away };
    const mute = serverOver({ ...deps, log, metrics: prometheusMetrics() });
    const { body } = await mute.inject({ method: 'GET', url: '/metrics' });
    expect(sample(body, 'tributary_log_up')).toBe(0);
    expect(body).not.toContain('tributary_projection_lag_events{');
    await mute.close();
  });
});

const clock = { now: () => 100_000, monotonic: () => 0 };
const status = { version: 1, space: 'leads@1.1', parked: [], skipped: 2 };

/** A log with byte positions, 100 for each event, and one event a second. */
const bytesLog = (events: number): Pick<EventLog, 'head' | 'readFold'> => ({
  head: async () => ({ position: events * 100, at: events * 1_000 }),
  readFold: async ({ after, limit }) => {
    const rows: FoldEvent[] = [];
    for (let n = Math.floor(after / 100) + 1; n <= events && rows.length < limit; n++)
      rows.push({ position: n * 100, at: n * 1_000 } as FoldEvent);
    return rows;
  },
});

describe('The lag of a read model', () => {
  const lag = async (events: number, checkpoint: number) => {
    const lagEvents = events * 100 - checkpoint;
    const projections = {
      status: async () => [{ ...status, name: 'leads', checkpoint, lagEvents }],
    };
    const [lagOfLeads] = await measureLags({ log: bytesLog(events), clock, projections });
    return lagOfLeads;
  };

  it('The lag of a read model is in events and in seconds when positions are bytes', async () => {
    expect(await lag(10, 1_000)).toEqual({
      projection: 'leads',
      parked: 0,
      skipped: 2,
      events: 0,
      seconds: 0,
    });
    expect(await lag(10, 700)).toMatchObject({ events: 3, seconds: 92 });
  });

  it('The lag of a read model is estimated from a counted part when it is long', async () => {
    expect(await lag(90_000, 1_000)).toMatchObject({ events: 89_990, seconds: 89 });
  });
});

describe('The observed log and store', () => {
  const observed: unknown[] = [];
  const metricsOf = {
    countAppend: (outcome: string, seconds: number) => observed.push([outcome, seconds]),
    countSending: (kind: string, outcome: string) => observed.push(`${kind} ${outcome}`),
    countRoundTrip: (trip: object, seconds: number) => observed.push([trip, seconds]),
  };

  it('The observed log and store report each append with its outcome and duration, and the outcome of deliveries', async () => {
    observed.length = 0;
    let now = 0;
    const answers = [{ outcome: 'appended', revision: 0, position: 1 }, { outcome: 'conflict' }];
    const log = serviceLog(
      {
        appendAll: async () => {
          now += 20;
          const answer = answers.shift();
          if (!answer) throw new LogUnavailable('fault', 'unknown', 'away');
          return answer;
        },
      } as unknown as EventLog,
      { timeline: timeline(app.clock), metrics: metricsOf, monotonic: () => now },
    );
    const meta = { at: 0 };
    const events = [
      { type: 'OutboundConfirmed', meta },
      { type: 'PushDeferred', meta },
    ] as never;
    await log.append('a-b', -1, events);
    await log.append('a-b', -1, events);
    await expect(log.append('a-b', -1, events)).rejects.toThrow('away');
    expect(observed).toEqual([
      'outreach confirmed',
      'push deferred',
      ['appended', 0.02],
      ['conflict', 0.02],
      ['unavailable', 0.02],
    ]);
  });

  it('The observed log and store report each round trip of reads and writes of read models', async () => {
    observed.length = 0;
    const store = observedStore(
      {
        find: async () => ({ space: null, checkpoint: 0, value: undefined }),
        commit: async () => Promise.reject(new Error('away')),
      } as unknown as RemoteStore,
      metricsOf,
      () => 0,
    );
    await store.find('leads', 'acme', 'x');
    await expect(store.commit('leads@1.1', [])).rejects.toThrow('away');
    expect(observed).toEqual([
      [{ kind: 'read', outcome: 'ok' }, 0],
      [{ kind: 'write', outcome: 'failed' }, 0],
    ]);
  });
});
