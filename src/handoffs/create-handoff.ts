/** The operation that creates a handoff for a buyer. */
import type { EventData } from '#contracts/registries/events.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { Handoff } from '#contracts/handoffs/records.ts';
import type { InputFault } from '#contracts/problems.ts';
import { type HandoffState, handoff } from './handoff.decider.ts';
import type { Deps, Handler, InputOf } from '#src/calls/handlers.ts';
import type { AgentCall } from '#src/shared/call.ts';
import { createOnce, readReplay, traceOf, type Written } from '#src/writing/decide-and-append.ts';
import { foldAt, nameOf, linkOf } from '#src/writing/streams.ts';
import { isLiveLink, notLive, warned, warnInUse, windowNow } from '#src/reading/live-sources.ts';
import { lineIdAt, priceLines, totalsOf } from '#src/catalog/products.ts';
import {
  done,
  isRefusal,
  type Outcome,
  type Refusal,
  refuse,
  refuseField,
} from '#src/shared/outcome.ts';
import { deriveMailboxKeys, maskingDeps } from '#src/sealing/suppression.ts';
import { sealAll } from '#src/sealing/sealed-texts.ts';
import { findDeliverer, proposeDelivery } from './deliver-list.ts';
import { showHandoff } from './render-handoff.ts';
import { reviewTokenHash, reviewTokenOf } from '#src/shared/signing.ts';
import { present } from '#src/shared/json.ts';
import { DAY_MS, endFault, epoch } from '#src/shared/time.ts';

type Input = InputOf<'createHandoff'>;

export const createHandoff: Handler<'createHandoff'> = async (deps, input, call) => {
  const name = nameOf('handoff', call.idem ?? '');
  const handoffId = `hnd_${name}`;
  const stream = `${call.ownerId}-handoff_${name}`;
  const answer = async (written: Written<HandoffState>) => {
    const isReplay = written.replayOf !== undefined;
    if (isReplay && (await deps.vault.knows(handoffId)) === 'destroyed') return HANDOFF_ERASED;
    const view = { ownerId: call.ownerId, at: written.state.created_at };
    return done(await showHandoff(maskingDeps(deps), written.state, view), traceOf(written));
  };

  if (input.check_only) return checkHandoff(deps, call, { input, handoffId });
  const deliverer = input.deliver ? await findDeliverer(deps, input, call) : undefined;
  const facts =
    deliverer?.ok === false ? deliverer : await makeFacts(deps, call, { input, handoffId });
  if (isRefusal(facts) || deliverer?.ok === false) {
    const replay = await readReplay(deps, call, { stream, decider: handoff });
    if (!replay) return facts as Refusal;
    return replay.ok ? answer(replay) : replay;
  }
  const { email = '' } = input.buyer;
  const delivery = deliverer && { handoff: facts, email, own: deliverer.own };
  const effects = delivery && (await proposeDelivery(deps, call, delivery));
  const written = await createOnce(deps, call, {
    stream,
    decider: handoff,
    command: { type: 'CreateHandoff', handoff: facts },
    ...present({ effects }),
  });
  return written.ok ? answer(written) : written;
};

/** Answers what the list would be. Nothing is sealed or stored, and a list that is not there has no link. */
const checkHandoff = async (
  deps: Deps,
  call: AgentCall,
  { input, handoffId }: { input: Input; handoffId: string },
): Promise<Outcome<Handoff>> => {
  if (call.task)
    return refuseField(
      '/check_only',
      'not_together',
      'a task cannot only check: use createHandoff',
    );
  const { note_to_buyer, buyer, line_items } = input;
  const { email, ...plain } = buyer;
  const bare = line_items.map(({ note: _note, ...line }) => line);
  const facts = await makeFacts(deps, call, {
    input: { ...input, note_to_buyer: undefined, buyer: plain, line_items: bare },
    handoffId,
  });
  if (isRefusal(facts)) return facts;
  const state = foldAt(handoff, [{ type: 'HandoffCreated', data: facts }], { at: call.at });
  if (!state) throw new Error('a handoff without a state');
  const { review_url: _none, ...shown } = await showHandoff(deps, state, {
    ownerId: call.ownerId,
    at: call.at,
  });
  const value = {
    ...shown,
    ...present({ note_to_buyer }),
    buyer: { ...shown.buyer, ...present({ email }) },
    line_items: shown.line_items.map((line, i) => ({
      ...line,
      ...present({ note: line_items[i]?.note }),
    })),
    check_only: true as const,
  };
  return done(value, { status: 200 });
};

export const HANDOFF_ERASED = refuse(
  'resource_erased',
  'The personal data of this handoff was erased.',
);

/** Makes the facts that the decision needs, or refuses an input that allows none. */
const makeFacts = async (
  deps: Deps,
  call: AgentCall,
  { input, handoffId }: { input: Input; handoffId: string },
): Promise<EventData<'HandoffCreated'> | Refusal> => {
  const expiresAt =
    input.expires_at === undefined
      ? call.at + LIMITS.HANDOFF_DAYS_DEFAULT * DAY_MS
      : epoch(input.expires_at);
  const fault = endFault(expiresAt, call.at, LIMITS.HANDOFF_DAYS_MAX);
  if (fault) return refuseField('/expires_at', 'out_of_range', fault);

  const { ownerId } = call;
  const source =
    input.link_id === undefined ? undefined : await linkOf(deps, ownerId, input.link_id);
  if (input.link_id !== undefined && !source)
    return refuse('resource_not_found', 'There is no such link.', {
      errors: [{ pointer: '/link_id', code: 'not_found', detail: 'no link of yours has this id' }],
    });

  const isLive = source && (await isLiveLink(deps, call, source));

  const priced = pricedList(deps.catalog, input.line_items);
  if (isRefusal(priced)) return priced;

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
    ...present({ sealed_note_to_buyer: sealed.note }),
    ...present({ external_id, metadata }),
    ...(isLive && { link_id }),
    dims: { ...(isLive && source.dims), ...present({ client: call.client?.name }) },
    buyer: present({ company, country, email: sealed.email }),
    ...(email !== undefined && { mailbox_keys: deriveMailboxKeys(deps.secrets, email) }),
    ...priced,
    ...present({ sealed_line_notes: sealed.lineNotes }),
    token_hash: reviewTokenHash(reviewTokenOf(deps.secrets, handoffId)),
    review_origin: deps.origin(),
    expires_at: expiresAt,
    ...(input.deliver && { deliver: true }),
    window_days: await windowNow(deps, ownerId),
    ...warned([
      ...(source && !isLive ? [notLive(source.link_id)] : []),
      ...(await warnInUse(deps, ownerId, { external_id, id: handoffId })),
    ]),
    ...call.task,
  };
};

/** Prices the lines of a list, or refuses those whose product is not published. */
export const pricedList = (
  catalog: Deps['catalog'],
  requested: Input['line_items'],
): Pick<EventData<'HandoffCreated'>, 'lines' | 'totals'> | Refusal => {
  const priced = priceLines(catalog, requested);
  if ('faults' in priced) return refuseLines(priced.faults);
  const totals = totalsOf(priced.lines);
  return totals.some(({ amount }) => !Number.isSafeInteger(amount))
    ? refuseField('/line_items', 'too_large', 'the total exceeds 2^53 - 1')
    : { lines: priced.lines, totals };
};

/** Joins the notes of all lines into one text, because sealing each would cost more than the lines. */
export const lineNotesIn = ({ line_items }: Pick<Input, 'line_items'>): string | undefined => {
  const notes = line_items.flatMap(({ note }, index) =>
    note === undefined ? [] : [[lineIdAt(index), note] as const],
  );
  return notes.length === 0 ? undefined : JSON.stringify(Object.fromEntries(notes));
};

const refuseLines = (errors: InputFault[]): Refusal =>
  refuse(
    'product_unavailable',
    `${errors.length} ${errors.length === 1 ? 'line names' : 'lines name'} no published product.`,
    { errors },
  );
