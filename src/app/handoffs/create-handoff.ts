import type { EventData } from '#contracts/events/index.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { HandoffState } from '#src/domain/handoff-state.ts';
import { handoff } from '#src/domain/handoff.ts';
import type { AgentCall } from '../pipeline/call.ts';
import { createOnce, readReplay, traceOf } from '../events/decide-and-append.ts';
import type { Deps } from '../pipeline/deps.ts';
import type { Handler, InputOf } from '../pipeline/agent-handler.ts';
import { nameOf } from '../events/hash.ts';
import { lineIdAt, priceLines, totalsOf } from './price-lines.ts';
import { done, type Refusal, refuse } from '../pipeline/outcome.ts';
import { sealAll } from '../privacy/sealed-texts.ts';
import { showHandoff } from './render-handoff.ts';
import { linkOf } from '../records/streams.ts';
import { reviewTokenHash, reviewTokenOf } from './review-token.ts';
import { DAY_MS, endFault, epoch } from '../shared/time.ts';

type Input = InputOf<'createHandoff'>;

export const createHandoff: Handler<'createHandoff'> = async (deps, input, call) => {
  const name = nameOf('handoff', call.idem ?? '');
  const stream = `${call.ownerId}-handoff_${name}`;
  const answer = async (written: { state: HandoffState; position?: number; replayOf?: string }) => {
    const { state } = written;
    return done(await showHandoff(deps, call.ownerId, state, state.created_at), traceOf(written));
  };

  if ((await deps.vault.knows(`hnd_${name}`)) === 'destroyed') return HANDOFF_ERASED;
  const facts = await gather(deps, input, call, `hnd_${name}`);
  if ('ok' in facts) {
    const again = await readReplay(deps, call, { stream, decider: handoff });
    if (!again) return facts;
    return again.ok ? answer(again) : again;
  }
  const written = await createOnce(deps, call, {
    stream,
    decider: handoff,
    command: { type: 'CreateHandoff', handoff: facts },
  });
  return written.ok ? answer(written) : written;
};

const HANDOFF_ERASED = refuse('resource_erased', 'The personal data of this handoff was erased.');

/** What the decision needs to know, or why there is nothing to decide. */
const gather = async (
  deps: Deps,
  input: Input,
  call: AgentCall,
  handoffId: string,
): Promise<EventData<'HandoffCreated'> | Refusal> => {
  const expiresAt =
    input.expires_at === undefined
      ? call.at + LIMITS.HANDOFF_DAYS_DEFAULT * DAY_MS
      : epoch(input.expires_at);
  const fault = endFault(expiresAt, call.at, LIMITS.HANDOFF_DAYS_MAX);
  if (fault) return invalid('/expires_at', 'out_of_range', fault);

  const source =
    input.link_id === undefined ? undefined : await linkOf(deps, call.ownerId, input.link_id);
  if (input.link_id !== undefined && !source)
    return refuse('resource_not_found', 'There is no such link.', {
      errors: [{ pointer: '/link_id', code: 'not_found', detail: 'no link of yours has this id' }],
    });

  const priced = priceLines(deps.catalog, input.line_items);
  if ('faults' in priced)
    return refuse(
      'product_unavailable',
      `${priced.faults.length} ${priced.faults.length === 1 ? 'line names' : 'lines name'} no published product.`,
      { errors: priced.faults },
    );
  const totals = totalsOf(priced.lines);
  if (totals.some(({ amount }) => !Number.isSafeInteger(amount)))
    return invalid('/line_items', 'too_large', 'the total passes what can be counted exactly');

  const { email, company, country } = input.buyer;
  const sealed = await sealAll(deps.vault, handoffId, {
    email,
    note: input.note_to_buyer,
    lineNotes: lineNotesIn(input),
  });
  if (sealed === null) return HANDOFF_ERASED;
  const { title, locale, link_id, external_id, metadata } = input;
  return {
    handoff_id: handoffId,
    agent_id: call.caller.agentId,
    title,
    locale,
    ...(sealed.note !== undefined && { sealed_note_to_buyer: sealed.note }),
    ...(link_id !== undefined && { link_id }),
    ...(external_id !== undefined && { external_id }),
    ...(metadata !== undefined && { metadata }),
    dims: source?.dims ?? {},
    buyer: {
      ...(company !== undefined && { company }),
      ...(country !== undefined && { country }),
      ...(sealed.email !== undefined && { email: sealed.email }),
    },
    lines: priced.lines,
    ...(sealed.lineNotes !== undefined && { sealed_line_notes: sealed.lineNotes }),
    totals,
    token_hash: reviewTokenHash(reviewTokenOf(deps.secrets, handoffId)),
    review_origin: deps.origin(),
    expires_at: expiresAt,
    ...call.task,
  };
};

/** All of them in one text: a seal each would cost more than the lines. */
const lineNotesIn = ({ line_items }: Input): string | undefined => {
  const notes = line_items.flatMap(({ note }, index) =>
    note === undefined ? [] : [[lineIdAt(index), note] as const],
  );
  return notes.length === 0 ? undefined : JSON.stringify(Object.fromEntries(notes));
};

const invalid = (pointer: string, code: string, detail: string): Refusal =>
  refuse('validation_failed', 'Some fields are not valid.', {
    errors: [{ pointer, code, detail }],
  });
