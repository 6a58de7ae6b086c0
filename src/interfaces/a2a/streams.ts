import { once } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LIMITS } from '#contracts/limits.ts';
import type { AgentCaller } from '#src/app/pipeline/call.ts';
import type { Deps } from '#src/app/pipeline/deps.ts';
import { refusalFor } from '#src/app/pipeline/failure.ts';
import type { Outcome } from '#src/app/pipeline/outcome.ts';
import { refuse } from '#src/app/pipeline/outcome.ts';
import { followTask } from '#src/app/tasks/follow.ts';
import type { TaskView } from '#src/app/tasks/view.ts';
import { taskWatch } from '#src/app/tasks/watch.ts';
import { noteFailure } from '../http/failed-requests.ts';
import type { Gate } from '../http/gate.ts';
import { taskOf, updatesOf } from './wire.ts';

/** Proxies close what is silent for a minute. */
const HEARTBEAT_MS = 25_000;

type Opened = { taskId: string; wrap(event: object): object };

/** Tasks followed over server-sent events: a few per key, each for a while, none beyond the server. */
export const taskStreams = (server: FastifyInstance, deps: Deps, gate: Gate) => {
  const open = new Map<AbortController, { request: FastifyRequest; told: Promise<void> }>();
  const perKey = new Map<string, number>();
  const stopping = new AbortController();
  const endAll = (): void => {
    for (const stream of open.keys()) stream.abort();
  };
  const watch = taskWatch(deps, {
    signal: stopping.signal,
    onEnd(error) {
      if (error !== undefined) for (const { request } of open.values()) broke(request, error);
      endAll();
    },
  });
  server.addHook('preClose', async () => {
    stopping.abort();
    endAll();
    await Promise.all([...open.values()].map(({ told }) => told));
  });

  const tell = async (reply: FastifyReply, opened: Opened, signal: AbortSignal): Promise<void> => {
    const { taskId, wrap } = opened;
    const { raw, request } = reply;
    const callerNow = (): AgentCaller | undefined => {
      const again = gate.again(request);
      return again.ok ? again.value : undefined;
    };
    const write = async (text: string): Promise<void> => {
      if (!raw.write(text) && !signal.aborted)
        await once(raw, 'drain', { signal }).catch(() => undefined);
    };
    const beat = (): void => {
      if (callerNow()) raw.write(':\n\n');
      else raw.end();
    };
    const heart = setInterval(beat, HEARTBEAT_MS).unref();
    try {
      let before: TaskView | undefined;
      for await (const view of followTask(deps, watch, { callerNow, taskId, signal })) {
        const events = before ? updatesOf(view, before) : [{ task: taskOf(view) }];
        before = view;
        for (const event of events) await write(`data: ${JSON.stringify(wrap(event))}\n\n`);
      }
    } finally {
      clearInterval(heart);
    }
  };

  return {
    /** Takes a place for the key; call `release` unless the stream is opened. */
    reserve({ keyId }: AgentCaller): Outcome<() => void> {
      const count = perKey.get(keyId) ?? 0;
      if (count >= LIMITS.STREAMS_PER_KEY_MAX)
        return refuse('rate_limited', `At most ${LIMITS.STREAMS_PER_KEY_MAX} streams a key.`, {
          retryAfterS: 1,
        });
      perKey.set(keyId, count + 1);
      let isHeld = true;
      const release = (): void => {
        if (!isHeld) return;
        isHeld = false;
        const left = (perKey.get(keyId) ?? 1) - 1;
        if (left === 0) perKey.delete(keyId);
        else perKey.set(keyId, left);
      };
      return { ok: true, value: release };
    },

    /** Answers with the task and then its news, until its end, the client's, or ours. */
    open(reply: FastifyReply, opened: Opened, release: () => void): void {
      const ending = new AbortController();
      const limit = setTimeout(() => ending.abort(), LIMITS.STREAM_MS_MAX).unref();
      reply.hijack();
      const { raw } = reply;
      raw.on('close', () => ending.abort());
      raw.writeHead(200, {
        ...(reply.getHeaders() as OutgoingHttpHeaders),
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
        // Not to be used again: it ends when the stream does, also while the server stops.
        connection: 'close',
      });
      const told = tell(reply, opened, ending.signal)
        .catch((error: unknown) => broke(reply.request, error))
        .finally(() => {
          clearTimeout(limit);
          release();
          open.delete(ending);
          raw.end();
        });
      open.set(ending, { request: reply.request, told });
      if (stopping.signal.aborted) ending.abort();
    },
  };
};

/** A stream that has begun can be told of no error: it ends, and the log of the service says why. */
const broke = (request: FastifyRequest, error: unknown): void => {
  try {
    noteFailure(request, refusalFor(error).code);
  } catch {
    noteFailure(request, 'internal_error', error as Error);
  }
};
