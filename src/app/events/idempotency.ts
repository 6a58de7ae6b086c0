/** What an idempotency key stands for, and what it is tied to. */
import type { EventData } from '#contracts/events/index.ts';
import type { AppendResult, EventLog, Position, StoredEvent } from '#src/ports/event-log.ts';
import { LogUnavailable, NO_STREAM } from '#src/ports/event-log.ts';
import type { Ids } from '#src/ports/system.ts';
import { attribute } from './attribution.ts';
import type { AgentCaller, Call } from '../pipeline/call.ts';
import { digestOf } from './hash.ts';
import type { Done, Outcome, Refusal } from '../pipeline/outcome.ts';
import { done, refuse, Refused } from '../pipeline/outcome.ts';

/** What a call writes with. */
export type Writer = { log: EventLog; ids: Ids };

/**
 * What an idempotency key stands for. The agent, not the key it shows: a rotation must not execute
 * again. Not the surface: a retry may change it.
 */
export const idemOf = (
  { ownerId, agentId }: Pick<AgentCaller, 'ownerId' | 'agentId'>,
  operation: string,
  idempotencyKey: string,
): string => digestOf(ownerId, agentId, operation, idempotencyKey);

const REUSED = 'This key was first used for another request; its own answer is kept.';

/** The refusal of a key under which another request wrote first. */
export const reused = (first: StoredEvent): Refusal =>
  refuse('idempotency_key_reused', REUSED, {
    extra: {
      first_request: { id: first.meta.request, at: new Date(first.meta.at).toISOString() },
    },
  });

const bindingOf = ({ ownerId, idem }: Call): string => `${ownerId}-request_${idem}`;

/** What the key is tied to so far; nothing for a call without one. */
export const bindingsOf = async (
  { log }: Pick<Writer, 'log'>,
  call: Call,
): Promise<readonly StoredEvent[]> =>
  call.idem === undefined ? [] : log.readStream(bindingOf(call));

/** Refuses a key that these bindings tie to another request. */
export const refusedBy = ([first]: readonly StoredEvent[], call: Call): Refusal | undefined =>
  first && first.meta.fingerprint !== call.fingerprint ? reused(first) : undefined;

/** Refuses a key that is tied to another request, before that one's facts leave any trace. */
export const boundElsewhere = async (
  writer: Pick<Writer, 'log'>,
  call: Call,
): Promise<Refusal | undefined> => refusedBy(await bindingsOf(writer, call), call);

/** Ties the key by this call and after so many bindings; undefined for a call without one, which needs none. */
export const bind = async (
  writer: Writer,
  call: Call,
  to: Omit<EventData<'RequestBound'>, 'fingerprint'>,
  expected: number,
): Promise<AppendResult | undefined> => {
  if (call.idem === undefined || call.fingerprint === undefined) return undefined;
  const data = { ...to, fingerprint: call.fingerprint };
  const events = attribute(call, [{ type: 'RequestBound', data }], writer.ids);
  return writer.log.append(bindingOf(call), expected, events);
};

/** Ties the key to stream and fingerprint; refuses when it is tied to others. */
export const bindKey = async (
  writer: Writer,
  call: Call,
  stream: string,
): Promise<Refusal | undefined> => {
  const result = await bind(writer, call, { stream }, NO_STREAM);
  return result?.outcome === 'conflict' ? boundElsewhere(writer, call) : undefined;
};

/** Ties the key as bindKey does, and says where an earlier try of this request tied it. */
export const bindTry = async (
  writer: Writer,
  call: Call,
  stream: string,
): Promise<{ ok: true; since?: Position } | Refusal> => {
  const refusal = await bindKey(writer, call, stream);
  if (refusal) return refusal;
  const [first] = await bindingsOf(writer, call);
  const isFirst = first === undefined || first.meta.request === call.requestId;
  return isFirst ? { ok: true } : { ok: true, since: first.position };
};

/**
 * The log of one call, which ties the call's key before it appends anything: of two requests with one
 * key at once only one goes on, whatever they write, and who appends nothing spends no key. An append
 * for the other throws Refused.
 */
export const tyingLog = (writer: Writer, call: Call, stream: string): EventLog => {
  let tied: Promise<Refusal | undefined> | undefined;
  return {
    ...writer.log,
    async append(...asked) {
      tied ??= bindKey(writer, call, stream);
      const refusal = await tied;
      if (refusal) throw new Refused(refusal);
      return writer.log.append(...asked);
    },
  };
};

const SETTLING_MAX = 8;

const answered = <Value>(bindings: readonly StoredEvent[]): Done<Value> | undefined => {
  for (const { data, meta, position } of bindings) {
    const { answer } = data as EventData<'RequestBound'>;
    if (answer) return done(answer as Value, { position, replayOf: meta.request });
  }
  return undefined;
};

/**
 * A command whose answer no stream holds: it is kept with the key once all is done, and comes again.
 * `work` goes on where an earlier try was cut off. For answers without secrets.
 */
export const answeredOnce = async <Value extends Record<string, unknown>>(
  writer: Writer,
  call: Call,
  { stream, work }: { stream: string; work: () => Promise<Outcome<Value>> },
): Promise<Outcome<Value>> => {
  const known = await bindingsOf(writer, call);
  const before = refusedBy(known, call) ?? answered<Value>(known);
  if (before) return before;
  const outcome = await work();
  if (!outcome.ok) return outcome;
  for (let attempt = 0; attempt < SETTLING_MAX; attempt++) {
    const bindings = await bindingsOf(writer, call);
    const first = answered<Value>(bindings);
    if (first) return first;
    const to = { stream, answer: outcome.value };
    const result = await bind(writer, call, to, bindings.length - 1);
    if (result?.outcome === 'conflict') continue;
    return { ...outcome, ...(result && { position: result.position }) };
  }
  throw new LogUnavailable(
    'overloaded',
    'unknown',
    `${call.operation} is answered by many at once`,
  );
};
