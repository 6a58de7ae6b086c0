/** A visitor makes a list from landing pages, which becomes a handoff without an agent. */
import { DIRECT_OWNER } from '#contracts/fields.ts';
import type { AttributionClaims } from '#contracts/links/attribution-token.ts';
import type { EventData } from '#contracts/registries/events.ts';
import { LIMITS } from '#contracts/limits.ts';
import { handoff } from './handoff.decider.ts';
import { decideAndAppend, issue, traceOf } from '#src/writing/decide-and-append.ts';
import { digestOf, fingerprintsOf, nameOf, linkOf, streamOf } from '#src/writing/streams.ts';
import { type Limiter, networkOf, tooMany } from '#src/calls/limits.ts';
import { done, type Outcome, type Refusal, refuse } from '#src/shared/outcome.ts';
import { DAY_MS } from '#src/shared/time.ts';
import { openAttribution, reviewTokenHash, reviewTokenOf } from '#src/shared/signing.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { HolderHandler } from '#src/calls/desk-handler.ts';
import { windowNow } from '#src/reading/live-sources.ts';
import { priceLines, totalsOf } from '#src/catalog/products.ts';

/** The visit that is credited with a list; without a source, the list belongs to `DIRECT_OWNER`. */
type Credit = { owner: string } & Pick<
  EventData<'BuyerListCreated'>,
  'agent_id' | 'link_id' | 'dims' | 'visit_id' | 'alternatives' | 'window_days'
>;

const NOBODY: Credit = {
  owner: DIRECT_OWNER,
  agent_id: 'none',
  dims: {},
  window_days: LIMITS.ATTRIBUTION_DAYS,
};

const visitIn = ({ agent_id, link_id, visit_id }: AttributionClaims) => ({
  agent_id,
  link_id,
  visit_id,
});

/** Credits the visit of the first token, and names the other visits of its owner. */
const creditOf = async (deps: Deps, tokens: readonly string[], at: number): Promise<Credit> => {
  const [source, ...others] = tokens.map((token) => openAttribution(deps.secrets, token, at));
  const link = source && (await linkOf(deps, source.owner_id, source.link_id));
  if (!source || !link) return NOBODY;
  const alternatives = others.flatMap((other) =>
    other?.owner_id === source.owner_id && other.visit_id !== source.visit_id
      ? [visitIn(other)]
      : [],
  );
  return {
    owner: source.owner_id,
    ...visitIn(source),
    dims: link.dims,
    window_days: await windowNow(deps, source.owner_id),
    ...(alternatives.length > 0 && { alternatives }),
  };
};

const TAKEN = refuse('state_conflict', 'Another list has this place.');
const TOO_MANY = refuse(
  'state_conflict',
  `At most ${LIMITS.LISTS_PER_VISIT_MAX} lists can be made after one visit. Use one of them, or follow the link again.`,
);

/**
 * Makes a handler that writes a visitor's list, within a limit for each network address. The ids of the lists of a
 * visit follow from the visit and a number, so the log limits their count, also for concurrent calls and processes.
 */
export const listCreator =
  (limit: Limiter): HolderHandler<'createList', { token: string }> =>
  async (deps, input, call) => {
    const verdict = limit.take(networkOf(input.address));
    if (!verdict.allowed) return tooMany(verdict, limit);
    const { lines: requested, attribution, once, locale } = input;
    const priced = priceLines(deps.catalog, requested);
    if ('faults' in priced)
      return refuse('product_unavailable', 'A product of the list is no longer offered.', {
        errors: priced.faults,
      });
    const totals = totalsOf(priced.lines);
    if (totals.some(({ amount }) => !Number.isSafeInteger(amount)))
      return refuse('validation_failed', 'The total exceeds 2^53 - 1.');
    const { owner: ownerId, ...credit } = await creditOf(deps, attribution, call.at);
    const owned = {
      ...call,
      ownerId,
      idem: digestOf('createList', once),
      fingerprints: fingerprintsOf(deps.secrets, 'createList', { requested, attribution }),
    };
    const content = { ...credit, lines: priced.lines, totals, locale };
    const places = credit.visit_id === undefined ? 1 : LIMITS.LISTS_PER_VISIT_MAX;
    for (let place = 1; place <= places; place += 1) {
      const name = nameOf('list', credit.visit_id ?? once, String(place));
      const written = await writeList(deps, owned, { handoffId: `hnd_${name}`, content });
      if (written !== TAKEN) return written;
    }
    return TOO_MANY;
  };

type Content = Omit<Credit, 'owner'> &
  Pick<EventData<'BuyerListCreated'>, 'lines' | 'totals' | 'locale'>;

const writeList = async (
  deps: Deps,
  call: Parameters<typeof decideAndAppend>[1],
  { handoffId, content }: { handoffId: string; content: Content },
): Promise<Outcome<{ token: string }> | Refusal> => {
  const token = reviewTokenOf(deps.secrets, handoffId);
  const list = {
    handoff_id: handoffId,
    ...content,
    token_hash: reviewTokenHash(token),
    review_origin: deps.origin(),
    expires_at: call.at + LIMITS.HANDOFF_DAYS_DEFAULT * DAY_MS,
  };
  const written = await decideAndAppend(deps, call, {
    stream: streamOf(call.ownerId, 'handoff', handoffId),
    decider: handoff,
    // Most places are free, so that the stream is read only after a conflict.
    expected: [],
    command: (current) => (current ? TAKEN : issue({ type: 'CreateBuyerList' as const, list })),
  });
  if (written.ok) return done({ token }, traceOf(written));
  if ('rejected' in written) throw new Error(`a list was rejected: ${written.rejected}`);
  return written;
};
