/** Streams of A2A: the changes of a task as server-sent events. */
import { once } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LIMITS } from '#contracts/limits.ts';
import type { AgentApp } from '#src/registries/app.ts';
import type { Admission, AgentCaller } from '#src/shared/call.ts';
import { storeRefusal } from '#src/calls/failure.ts';
import { type Outcome, refuse } from '#src/shared/outcome.ts';
import type { TaskView } from '#src/tasks/task-view.ts';
import type { TaskWatch } from '#src/tasks/follow-task.ts';
import { rememberFailure } from '#src/web/problem.ts';
import { taskOf, updatesOf } from './wire.ts';

/** Shorter than the idle timeout of proxies, often a minute. */
const HEARTBEAT_MS = 25_000;

type Opened = {
  admission: Admission<AgentCaller>;
  taskId: string;
  endsWhenInterrupted: boolean;
  /** Converts an event to the form of its binding. */
  wrap(event: object): object;
  release(): void;
};

type StreamApp = Pick<AgentApp, 'watchTasks' | 'followTask'> & {
  agents: Pick<AgentApp['agents'], 'confirm'>;
};

/** Tasks followed over server-sent events: a few per key, each for a limited time, none after the server stops. */
export class TaskStreams {
  readonly #app: StreamApp;
  readonly #watch: TaskWatch;
  readonly #open = new Map<AbortController, { request: FastifyRequest; written: Promise<void> }>();
  /** The places of each key, oldest first, and when each is free at the latest, in ms of `performance.now()`. */
  readonly #perKey = new Map<string, Set<{ freeAt: number }>>();
  readonly #stopping = new AbortController();

  constructor(app: StreamApp) {
    this.#app = app;
    this.#watch = app.watchTasks({
      signal: this.#stopping.signal,
      onEnd: (error) => {
        if (error !== undefined)
          for (const { request } of this.#open.values()) rememberBrokenStream(request, error);
        this.#endAll();
      },
    });
  }

  /** Ends every stream; resolves when all have been written to their end. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#endAll();
    await Promise.all([...this.#open.values()].map(({ written }) => written));
  }

  /** Reserves a place for the key. The caller frees it by calling the result, unless a stream is opened. */
  reserve({ keyId }: Pick<AgentCaller, 'keyId'>): Outcome<() => void> {
    const places = this.#perKey.get(keyId) ?? new Set();
    const now = performance.now();
    const [oldest] = places;
    if (oldest && places.size >= LIMITS.STREAMS_PER_KEY_MAX) {
      const retryAfterS = Math.ceil((oldest.freeAt - now) / 1_000);
      return refuse(
        'rate_limited',
        `At most ${LIMITS.STREAMS_PER_KEY_MAX} streams a key. Close one, or wait for the oldest to end in ${retryAfterS} s.`,
        { retryAfterS },
      );
    }
    const place = { freeAt: now + LIMITS.STREAM_MS_MAX };
    this.#perKey.set(keyId, places.add(place));
    const release = (): void => {
      places.delete(place);
      if (places.size === 0 && this.#perKey.get(keyId) === places) this.#perKey.delete(keyId);
    };
    return { ok: true, value: release };
  }

  /** Answers with the task and then its changes, until it ends, the client leaves or the server stops. */
  open(reply: FastifyReply, opened: Opened): void {
    const ending = new AbortController();
    const limit = setTimeout(() => ending.abort(), LIMITS.STREAM_MS_MAX).unref();
    reply.hijack();
    const { raw, request } = reply;
    raw.on('close', () => ending.abort());
    raw.writeHead(200, {
      ...(reply.getHeaders() as OutgoingHttpHeaders),
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      // The connection ends with the stream, also while the server stops.
      connection: 'close',
    });
    const written = this.#write(reply, opened, ending.signal)
      .catch((error: unknown) => rememberBrokenStream(request, error))
      .finally(() => {
        clearTimeout(limit);
        opened.release();
        this.#open.delete(ending);
        raw.end();
      });
    this.#open.set(ending, { request, written });
    if (this.#stopping.signal.aborted) ending.abort();
  }

  #endAll(): void {
    for (const stream of this.#open.keys()) stream.abort();
  }

  async #write({ raw }: FastifyReply, opened: Opened, signal: AbortSignal): Promise<void> {
    const { admission, taskId, endsWhenInterrupted, wrap } = opened;
    const callerNow = (): AgentCaller | undefined =>
      this.#app.agents.confirm(admission) ? undefined : admission.caller;
    const write = async (text: string): Promise<void> => {
      if (!raw.write(text) && !signal.aborted)
        await once(raw, 'drain', { signal }).catch(() => undefined);
    };
    const beat = (): void => {
      if (callerNow()) raw.write(':\n\n');
      else raw.end();
    };
    const heartbeat = setInterval(beat, HEARTBEAT_MS).unref();
    try {
      let before: TaskView | undefined;
      const views = this.#app.followTask(this.#watch, {
        callerNow,
        taskId,
        endsWhenInterrupted,
        signal,
      });
      for await (const view of views) {
        const events = before ? updatesOf(view, before) : [{ task: taskOf(view) }];
        before = view;
        for (const event of events) await write(`data: ${JSON.stringify(wrap(event))}\n\n`);
      }
    } finally {
      clearInterval(heartbeat);
    }
  }
}

/** Streams that end when the server closes. */
export const taskStreams = (server: FastifyInstance, app: StreamApp): TaskStreams => {
  const streams = new TaskStreams(app);
  server.addHook('preClose', () => streams.stop());
  return streams;
};

/** Remembers why a stream broke, for the log: once it has begun, it cannot answer an error. */
const rememberBrokenStream = (request: FastifyRequest, error: unknown): void => {
  try {
    const { code, cause } = storeRefusal(error);
    rememberFailure(request, code, cause);
  } catch {
    rememberFailure(request, 'internal_error', error as Error);
  }
};
