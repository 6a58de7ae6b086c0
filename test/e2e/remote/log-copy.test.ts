/** `log copy` between the embedded store and EventStoreDB. */
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sqliteEventLog, sqliteLogSource } from '#src/stores/sqlite/log/event-log.ts';
import { acknowledgedWrites } from '#src/calls/failure.ts';
import { awaitWrites, consistencyToken } from '#src/calls/pipeline.ts';
import { copyLog } from '#src/transfer/copy-log.ts';
import { memoryEventLog } from '../../support/memory-event-log.ts';
import {
  type EventLog,
  NO_STREAM,
  expectedRevision,
  type StoredEvent,
} from '#src/ports/event-log.ts';
import { testApp } from '../../support/world/app.ts';
import { endChildren, runCli, serveChild } from '../../support/processes/child-service.ts';
import { type Ended, ended, lastLine, until } from '../../support/clients/cli.ts';
import { directories } from '../../support/processes/directories.ts';
import { bound, several } from '../../conformance/log-events.ts';
import { endLogServers, logServer, type LogServer } from '../../support/eventstoredb/log-server.ts';
import { replaceData } from '../../support/eventstoredb/replace-data.ts';
import { patientLog } from '../../support/eventstoredb/eventstoredb-logs.ts';

const temporary = directories('tributary-copy-');
let target: LogServer;
beforeAll(async () => {
  target = await logServer();
});
afterEach(endChildren);
afterAll(async () => {
  await endLogServers();
  temporary.removeAll();
});

const LEADS = '/api/affiliate/v1/leads';

type Report = { events: number; copied: number; present: number; behind: boolean; fault?: string };

const ROOT_KEY = Buffer.alloc(32, 3).toString('base64');

const copy = async (from: string, to: string) => {
  const end = await ended(runCli(['log', 'copy', from, to, '--json'], { ROOT_KEY }));
  return { ...end, report: lastLine(end.stdout || '{}') as Report };
};

const STREAMS = 40;

/** Streams in turn, some appends with several events. */
const fill = async (log: EventLog, appends: number): Promise<void> => {
  const revisions = new Map<string, number>();
  for (let n = 0; n < appends; n += 1) {
    const stream = `owner${n % 3}-lead_${n % STREAMS}`;
    const expected = revisions.get(stream) ?? NO_STREAM;
    const events = several(n % 7 === 0 ? 3 : 1).map((event, i) => ({
      ...event,
      data: { stream: 'a-b', fingerprint: `ü ${n}.${i} \u{1f40c}` },
    }));
    const result = await log.append(stream, expected, events);
    if (result.outcome === 'conflict') throw new Error('conflict');
    revisions.set(stream, result.revision);
  }
};

const embedded = async (appends: number): Promise<string> => {
  const directory = temporary.fresh();
  const log = sqliteEventLog({ directory });
  await fill(log, appends);
  await log.close();
  return directory;
};

/** The events without positions, in order. */
const contentOf = async (log: Pick<EventLog, 'readAll'>): Promise<object[]> => {
  const events: StoredEvent[] = [];
  for (let after = 0; ; after = events.at(-1)?.position ?? 0) {
    const page = await log.readAll({ after, limit: 1_000 });
    if (page.length === 0) break;
    events.push(...page);
  }
  return events.map(({ position: _position, ...event }) => event);
};

const inDirectory = async (directory: string): Promise<object[]> => {
  const log = sqliteLogSource(directory);
  try {
    return await contentOf(log);
  } finally {
    await log.close();
  }
};

const onServer = async (url: string): Promise<object[]> => {
  const log = await patientLog({ url });
  try {
    return await contentOf(log);
  } finally {
    await log.close();
  }
};

describe('log copy', () => {
  it('`log copy` continues after a kill, and copies every event to EventStoreDB and back in order', async () => {
    const home = await embedded(1_000);
    const content = await inDirectory(home);
    const log = await patientLog({ url: target.url });
    const first = runCli(['log', 'copy', `sqlite:${home}`, target.url]);
    const end = once(first, 'exit');
    const isUnderWay = async (): Promise<boolean> =>
      (await log.readFold({ after: 0, limit: 201 })).length > 200;
    expect(await until(isUnderWay)).toBe(true);
    first.kill('SIGKILL');
    await end;
    await log.close();
    const partly = (await onServer(target.url)).length;
    expect(partly).toBeGreaterThan(200);
    expect(partly).toBeLessThan(content.length);

    const second = await copy(`sqlite:${home}`, target.url);
    expect(second.code, second.stderr).toBe(0);
    expect(second.report).toMatchObject({
      events: content.length,
      present: partly,
      copied: content.length - partly,
      behind: false,
    });
    expect(await onServer(target.url)).toEqual(content);

    const third = await copy(`sqlite:${home}`, target.url);
    expect(third.report).toMatchObject({ copied: 0, present: content.length });

    const back = temporary.fresh();
    const there = await copy(target.url, `sqlite:${back}`);
    expect(there.code, there.stderr).toBe(0);
    expect(await inDirectory(back)).toEqual(content);
  });

  /** Copies to a server that `strike` kills once it has more than 100 events, and starts again. */
  const copyDuring = async (
    strike: (server: LogServer, stderr: () => string) => Promise<void>,
  ): Promise<{ end: Ended; home: string; url: string }> => {
    const [server, home] = [await logServer(), await embedded(1_000)];
    const log = await patientLog({ url: server.url });
    const copying = runCli(['log', 'copy', `sqlite:${home}`, server.url, '--json'], { ROOT_KEY });
    const end = ended(copying);
    let stderr = '';
    copying.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const isUnderWay = async (): Promise<boolean> =>
      (await log.readFold({ after: 0, limit: 101 })).length > 100;
    expect(await until(isUnderWay)).toBe(true);
    await log.close();
    await strike(server, () => stderr);
    return { end: await end, home, url: server.url };
  };

  it('The command log copy waits for a server that restarts, and says so', async () => {
    const { end, home, url } = await copyDuring(async (server, stderr) => {
      await server.kill();
      expect(await until(async () => stderr().includes('Waiting up to 60 s for it.'))).toBe(true);
      await server.restart();
    });
    expect(end.code, end.stderr).toBe(0);
    expect(await onServer(url)).toEqual(await inDirectory(home));
  });

  it('The command log copy ends if the server has another log after a restart', async () => {
    const { end, url } = await copyDuring((server) => replaceData(server));
    expect(end.code).toBe(1);
    expect(end.stderr).toContain('the log was replaced during the copy: EventStoreDB at');
    expect(end.stderr).not.toContain('log adopt');
    expect(await onServer(url)).toEqual([]);
  });

  it('The command log copy refuses a target with other events, and does not change it', async () => {
    const server = await logServer();
    const log = await patientLog({ url: server.url });
    await log.append('other-lead_1', NO_STREAM, [bound('theirs')]);
    await log.close();
    const home = await embedded(5);
    const { code, stderr, report } = await copy(`sqlite:${home}`, server.url);
    expect(code).toBe(1);
    expect(report.fault).toBe('foreign');
    expect(stderr).toContain('other-lead_1');
    expect(await onServer(server.url)).toHaveLength(1);
  });

  it('`log copy` copies a log that a service is writing to, and reports later events', async () => {
    const home = temporary.fresh();
    const service = await serveChild(home, { ROOT_KEY });
    const server = await logServer();
    const { code, stderr, report } = await copy(`sqlite:${home}`, server.url);
    expect(code, stderr).toBe(0);
    expect(report.events).toBeGreaterThan(0);
    expect(await service.end('SIGTERM')).toMatchObject({ code: 0 });
    const last = await copy(`sqlite:${home}`, server.url);
    expect(last.report).toMatchObject({ behind: false });
    expect(await onServer(server.url)).toEqual(await inDirectory(home));
  });

  it('`log copy` copies keys, desk tokens and personal data', async () => {
    const server = await logServer();
    const old = await testApp({ ROOT_KEY });
    const { key } = await old.agent('acme');
    const contact = { name: 'Ada Lovelace', email: 'ada@shop.example' };
    const submitted = await old.send({
      method: 'POST',
      url: LEADS,
      key,
      headers: { 'idempotency-key': 'moving-1' },
      payload: {
        external_id: 'crm-1',
        company: { name: 'Shop', country: 'GB' },
        contact,
        consent: { basis: 'consent', obtained_at: '2026-11-19T10:00:00Z' },
      },
    });
    expect(submitted.status, submitted.text).toBe(201);
    const { code, stderr, report } = await copy(`sqlite:${old.directory}`, server.url);
    expect(code, stderr).toBe(0);
    expect(report).toMatchObject({ keys: 1, erased: 0 });
    await old.close();
    const settings = { EVENT_LOG_URL: server.url, ROOT_KEY };
    const moved = await testApp(settings);
    const listed = await moved.send({ method: 'GET', url: LEADS, key });
    expect(listed.status, listed.text).toBe(200);
    expect((listed.body as { data: object[] }).data).toMatchObject([{ contact }]);
    const token = submitted.headers['consistency-token'] ?? '';
    const refused = await moved.send({
      method: 'GET',
      url: LEADS,
      key,
      headers: { 'consistency-token': token },
    });
    expect(refused.body).toMatchObject({ code: 'consistency_token_invalid' });
    await moved.close();
  });

  it('`log copy` refuses an invalid source or target, and lists the valid forms', async () => {
    const home = await embedded(1);
    for (const [from, to, says] of [
      ['mysql://user:secret@host', target.url, 'names no log'],
      [`sqlite:${temporary.fresh()}`, target.url, 'holds no log'],
      [`sqlite:${home}`, `sqlite:${home}`, 'the same log'],
      [`sqlite:${home}`, `sqlite:${join(home, '..', home.split('/').at(-1) ?? '')}`, 'the same'],
    ] as const) {
      const { code, stderr } = await copy(from, to);
      expect(code, says).not.toBe(0);
      expect(stderr).toContain(says);
      expect(stderr).not.toContain('secret');
    }
  });
});

const copied = async (
  over: (log: EventLog) => Partial<EventLog> = () => ({}),
): Promise<{ from: EventLog; to: EventLog; result: Awaited<ReturnType<typeof copyLog>> }> => {
  const [from, to] = [memoryEventLog({ id: 'old-log-1' }), memoryEventLog({ id: 'new-log-1' })];
  await fill(from, 200);
  return { from, to, result: await copyLog(from, { ...to, ...over(to) }) };
};

describe('A copied log', () => {
  it('A copied log has another identity, so that tokens of the source are refused', async () => {
    const { from, to, result } = await copied();
    expect(result).toMatchObject({ ok: true, present: 0 });
    const token = consistencyToken(from.id, 1);
    const following = { passed: async () => true, asOf: () => ({ position: 99, at: null }) };
    const over = (log: EventLog) => ({
      log,
      following,
      acknowledged: acknowledgedWrites(following),
    });
    const reads = { owner: 'owner0', scope: 'owner0' };
    expect(await awaitWrites(over(to), reads, token)).toMatchObject({
      code: 'consistency_token_invalid',
    });
    expect(await awaitWrites(over(from), reads, token)).toBeUndefined();
  });

  it('A copied log fails verification when an event differs or is added', async () => {
    const { result } = await copied((log) => ({
      readAll: async (options) =>
        (await log.readAll(options)).map((event) =>
          event.revision === 1 ? { ...event, data: { other: true } } : event,
        ),
    }));
    expect(result).toMatchObject({ ok: false, fault: 'differs' });
  });

  it('A copied log is refused when another process writes to the target', async () => {
    const { result } = await copied((log) => ({
      append: async (stream, expected, events) =>
        expectedRevision(expected) >= 0
          ? { outcome: 'conflict' }
          : log.append(stream, expected, events),
    }));
    expect(result).toMatchObject({ ok: false, fault: 'foreign' });
  });

  it('A copied log is reported as incomplete when its source has new events', async () => {
    const from = memoryEventLog({ id: 'old-log-1' });
    await fill(from, 5);
    const to = memoryEventLog({ id: 'new-log-1' });
    let isFirst = true;
    const result = await copyLog(from, {
      ...to,
      async readAll(options) {
        const page = await to.readAll(options);
        if (page.length > 0 && isFirst) {
          isFirst = false;
          await from.append('late-lead_1', NO_STREAM, [bound('late')]);
        }
        return page;
      },
    });
    expect(result).toMatchObject({ ok: true, isBehind: true });
    expect(await copyLog(from, to)).toMatchObject({ ok: true, isBehind: false });
  });
});
