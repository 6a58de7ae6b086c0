/** Streams of tasks while the log fails: open streams end, later ones work, and the failure is logged. */
import Fastify from 'fastify';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { Deps } from '#src/calls/handlers.ts';
import type { Admission, AgentCaller } from '#src/shared/call.ts';
import { memoryEventLog } from '../support/memory-event-log.ts';
import { followTask, taskWatch } from '#src/tasks/follow-task.ts';
import { taskStreams } from '#src/interfaces/a2a/streams.ts';
import { logFailures } from '#src/web/problem.ts';
import { type EventLog, type FoldEvent, LogUnavailable, NO_STREAM } from '#src/ports/event-log.ts';
import { several } from '../conformance/log-events.ts';

const AWAY = new LogUnavailable('fault', 'no', 'away');

/** A log that fails once, at its head or in its subscription, and then works. */
const failingOnce = (at: 'head' | 'subscription'): EventLog => {
  const log = memoryEventLog();
  let isWell = false;
  const fail = (): void => {
    if (isWell) return;
    isWell = true;
    throw AWAY;
  };
  return {
    ...log,
    async head() {
      if (at === 'head') fail();
      return log.head();
    },
    async *subscribe(options) {
      if (at === 'subscription') fail();
      yield* log.subscribe(options);
    },
  };
};

describe('The watch of tasks', () => {
  const following = (log: EventLog) => {
    const ends: unknown[] = [];
    let resolveEnd = (): void => {};
    const ended = new Promise<void>((resolve) => (resolveEnd = resolve));
    const stopping = new AbortController();
    const { signal } = stopping;
    const onEnd = (error?: unknown): void => {
      ends.push(error);
      resolveEnd();
    };
    const nextEvent = async (): Promise<FoldEvent> => {
      const first = Promise.withResolvers<FoldEvent>();
      await watch.on('acme-lead_1', first.resolve);
      await log.append('acme-lead_1', NO_STREAM, several(1));
      return first.promise;
    };
    const watch = taskWatch({ log }, { signal, onEnd });
    return { watch, ends, ended, heard: nextEvent, stop: () => stopping.abort() };
  };

  it('The watch of tasks starts again after a failed start', async () => {
    const { watch, ends, heard: nextEvent } = following(failingOnce('head'));
    await expect(watch.on('acme-lead_1', () => {})).rejects.toBe(AWAY);
    expect(await nextEvent()).toMatchObject({ stream: 'acme-lead_1' });
    expect(ends).toEqual([]);
  });

  it('The watch of tasks reports why it ended, and starts again', async () => {
    const { watch, ends, ended, heard: nextEvent } = following(failingOnce('subscription'));
    await watch.on('acme-lead_1', () => {});
    await ended;
    expect(ends).toEqual([AWAY]);
    expect(await nextEvent()).toMatchObject({ stream: 'acme-lead_1' });
  });

  it('The watch of tasks reports no error when it is stopped', async () => {
    const { watch, ends, ended, stop } = following(memoryEventLog());
    await watch.on('acme-lead_1', () => {});
    stop();
    await ended;
    expect(ends).toEqual([undefined]);
  });
});

describe('A task stream that fails', () => {
  const linesOf = async (error: Error) => {
    const lines: Record<string, unknown>[] = [];
    const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const server = Fastify();
    logFailures(server, log);
    const head = async () => {
      throw error;
    };
    const deps = { log: { head } } as unknown as Deps;
    const admission = { caller: { ownerId: 'acme' } } as Admission<AgentCaller>;
    const streams = taskStreams(server, {
      agents: { confirm: () => undefined },
      watchTasks: (options) => taskWatch(deps, options),
      followTask: (watch, following) => followTask(deps, watch, following),
    });
    server.get('/', (_request, reply) => {
      const wrap = (event: object) => event;
      const opened = { admission, taskId: 'tsk_1', endsWhenInterrupted: false, wrap };
      streams.open(reply, { ...opened, release: () => {} });
    });
    const { statusCode, body } = await server.inject('/');
    expect([statusCode, body]).toEqual([200, '']);
    return lines;
  };

  it('A task stream that fails is logged as a request that was not served', async () => {
    expect(await linesOf(AWAY)).toMatchObject([
      { msg: 'request not served', code: 'storage_unavailable', status: 200 },
    ]);
  });

  it('A task stream that fails is logged with a stack if the cause is a bug', async () => {
    expect(await linesOf(new TypeError('a bug'))).toMatchObject([
      { msg: 'request failed', code: 'internal_error', err: { message: 'a bug' } },
    ]);
  });
});
