/** Records as their owner's agents read them, by a tool and as resources of MCP. */
import { METRICS } from '#contracts/performance/records.ts';
import { ID_PREFIXES, type OwnRecord, type RecordKind } from '#contracts/records/records.ts';
import { allows, type NeededScope, OUTBOUND_SCOPES } from '#contracts/scopes.ts';
import type { Handler } from '#src/calls/handlers.ts';
import { ownHandoff, showHandoff } from '#src/handoffs/render-handoff.ts';
import { renderProduct, staleBefore } from '#src/catalog/products.ts';
import { readOwnerSettings } from '#src/reading/live-sources.ts';
import { handoffWithOutcome, withRfqs } from '#src/leads/observe-rfq.ts';
import { showLead } from '#src/leads/render-lead.ts';
import { renderLink, shownNameOfLink } from '#src/links/links.ts';
import { nameOfOutbound, type OutboundState } from '#src/outreach/outbound.decider.ts';
import { kindRefusal, outboundOf, renderForAgent } from '#src/outreach/requests.ts';
import { aggregate } from '#src/performance/aggregate.ts';
import type { Query } from '#src/performance/calendar.ts';
import type { PerformanceDeps } from '#src/performance/get-performance.ts';
import { maskingDeps } from '#src/sealing/suppression.ts';
import type { AgentCall } from '#src/shared/call.ts';
import {
  done,
  isRefusal,
  type Outcome,
  type Refusal,
  refuse,
  scopeMissing,
} from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { DAY_MS } from '#src/shared/time.ts';
import { handoffOf, leadOf, linkOf } from '#src/writing/streams.ts';

/** The scope that reading each kind of record needs: the one that reads the kind, or that writes it where none reads it. */
export const RECORD_SCOPES: Readonly<Record<RecordKind, NeededScope>> = {
  link: 'links:write',
  handoff: 'handoffs:write',
  lead: 'leads:read',
  outreach: OUTBOUND_SCOPES,
  product: 'products:read',
};

export const ownOutbound = (
  ownerId: string,
  state: OutboundState,
  at: number,
): OwnRecord<'outreach'> => ({
  ...renderForAgent(ownerId, state, at),
  ...present({ name: nameOfOutbound(state), campaign: state.campaigns?.[0] }),
});

type Reader<Kind extends RecordKind> = (
  deps: PerformanceDeps,
  call: AgentCall,
  id: string,
) => Promise<OwnRecord<Kind> | Refusal | undefined>;

const READERS: { readonly [Kind in RecordKind]: Reader<Kind> } = {
  async link(deps, call, id) {
    const { ownerId, at } = call;
    const state = await linkOf(deps, ownerId, id);
    if (!state) return undefined;
    return {
      ...renderLink(ownerId, state, at),
      ...present({ name: shownNameOfLink(deps, state) }),
      ...(await countsOf(deps, call, { filters: { link_id: id }, since: state.created_at })),
    };
  },
  async handoff(deps, call, id) {
    const { ownerId, at } = call;
    const state = await handoffOf(deps, ownerId, id);
    // The link and the lines of a list that a buyer made belong to the buyer.
    if (!state || state.made_by_buyer) return undefined;
    const shown = await handoffWithOutcome(deps, ownerId, state);
    return {
      ...ownHandoff(state, await showHandoff(maskingDeps(deps), shown, { ownerId, at })),
      ...(await countsOf(deps, call, { filters: { handoff_id: id }, since: state.created_at })),
    };
  },
  async lead(deps, { ownerId, at }, id) {
    const state = await leadOf(deps, ownerId, id);
    if (!state) return undefined;
    const read = (handoffId: string) => handoffOf(deps, ownerId, handoffId);
    const lead = await showLead(maskingDeps(deps), state, { ownerId, at });
    const [one] = await withRfqs(deps, { ownerId, at, read }, { states: [state], leads: [lead] });
    if (!one) return undefined;
    const { contact: _person, ...shown } = one;
    return shown;
  },
  async outreach(deps, call, id) {
    const state = await outboundOf(deps, call.ownerId, id);
    return state && (kindRefusal(call, state.kind) ?? ownOutbound(call.ownerId, state, call.at));
  },
  async product(deps, { ownerId, at }, id) {
    const product = deps.catalog.byId([id]).get(id);
    const settings = await readOwnerSettings(deps, ownerId);
    return product && renderProduct(product, { staleBefore: staleBefore(settings, at) });
  },
};

type Counted = { filters: Query['filters']; since: number };

/** The numbers of performance that are not 0, of one record since its creation; none without the scope for them. */
const countsOf = async (
  { facts, readModels }: PerformanceDeps,
  { ownerId, at, caller }: AgentCall,
  { filters, since }: Counted,
): Promise<{ counts?: OwnRecord<'link'>['counts'] }> => {
  if (!caller.scopes.has('performance:read')) return {};
  const { rollUps, length } = await facts.read(readModels, ownerId);
  const query: Query = {
    from: Math.floor(since / DAY_MS),
    to: Math.floor(Math.max(since, at) / DAY_MS),
    granularity: 'total',
    timeZone: 'UTC',
    groupBy: [],
    filters,
  };
  const { counts } = (await aggregate(await rollUps.select(query, length), query)).total();
  const named = METRICS.map((name, i) => [name, counts[i] ?? 0] as const);
  return { counts: Object.fromEntries(named.filter(([, count]) => count !== 0)) };
};

/**
 * Reads a record of the caller's owner from the log, or a product from the catalog. Another owner's record is not found,
 * like one that never existed.
 */
export const readOwnRecord = async (
  deps: PerformanceDeps,
  { kind, id }: { kind: RecordKind; id: string },
  call: AgentCall,
): Promise<Outcome<OwnRecord>> => {
  const scope = RECORD_SCOPES[kind];
  if (!allows(scope, call.caller.scopes))
    return scopeMissing(`Reading a ${kind}`, scope, call.caller);
  const isId = new RegExp(`^${ID_PREFIXES[kind]}_[0-9a-z]{24}$`).test(id);
  const record = isId ? await READERS[kind](deps, call, id) : undefined;
  if (isRefusal(record)) return record;
  return record ? done(record) : refuse('resource_not_found', `There is no such ${kind}.`);
};

const KIND_OF: ReadonlyMap<string, RecordKind> = new Map(
  (Object.entries(ID_PREFIXES) as [RecordKind, string][]).map(([kind, prefix]) => [prefix, kind]),
);

export const getRecord: Handler<'getRecord', PerformanceDeps> = (deps, { id }, call) => {
  const kind = KIND_OF.get(id.slice(0, id.indexOf('_')));
  if (kind === undefined) throw new Error('an id without a kind passed validation');
  return readOwnRecord(deps, { kind, id }, call);
};
