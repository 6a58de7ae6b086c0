/** The table of handlers that read a record as a resource of MCP, and complete values of its kinds. */
import type { Scope } from '#contracts/scopes.ts';
import type { Handoff } from '#contracts/handoffs/records.ts';
import type { Lead } from '#contracts/leads/records.ts';
import type { Link } from '#contracts/links/records.ts';
import type { Product } from '#contracts/catalog/records.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { AgentCall } from '#src/shared/call.ts';
import type { AgentActor, SignaturesOf } from '#src/calls/rules.ts';
import type { Pipeline } from '#src/calls/pipeline.ts';
import { done, type Outcome, refuse, scopeMissing } from '#src/shared/outcome.ts';
import { showHandoff } from '#src/handoffs/render-handoff.ts';
import { handoffWithOutcome } from '#src/leads/observe-rfq.ts';
import { showLead } from '#src/leads/render-lead.ts';
import { renderLink } from '#src/links/links.ts';
import { maskingDeps } from '#src/sealing/suppression.ts';
import type { HandoffState } from '#src/handoffs/handoff.decider.ts';
import type { LinkState } from '#src/links/link.decider.ts';
import { listing } from '#src/reading/lists.ts';
import { readOwnerSettings } from '#src/reading/owner-settings.ts';
import { handoffOf, leadOf, linkOf } from '#src/writing/streams.ts';
import { renderProduct, staleBefore } from '#src/catalog/products.ts';

/**
 * The kinds of record that can be read by id, and the scope that each needs: the scope that reads
 * the kind, or the one that writes it where no scope reads it.
 */
export const RECORDS = {
  link: { scope: 'links:write', id: /^lnk_[0-9a-z]{24}$/ },
  handoff: { scope: 'handoffs:write', id: /^hnd_[0-9a-z]{24}$/ },
  lead: { scope: 'leads:read', id: /^led_[0-9a-z]{24}$/ },
  product: { scope: 'products:read', id: /^prd_[0-9a-z]{24}$/ },
} as const satisfies Record<string, { scope: Scope; id: RegExp }>;

export type RecordKind = keyof typeof RECORDS;
/** What can be completed: ids of each kind of record, SKUs or ids of products, and campaigns of links. */
export type CompletedKind = RecordKind | 'product_ref' | 'campaign';
type AnyRecord = Link | Handoff | Lead | Product;

export type RecordHandlers = {
  readRecord(
    deps: Deps,
    input: { kind: RecordKind; id: string },
    call: AgentCall,
  ): Promise<Outcome<AnyRecord>>;
  completeValue(
    deps: Deps,
    input: { kind: CompletedKind; value: string },
    call: AgentCall,
  ): Promise<Outcome<{ values: string[]; has_more: boolean }>>;
};

export type RecordPipeline = Pipeline<SignaturesOf<RecordHandlers>, AgentActor>;

type Reader = (deps: Deps, ownerId: string, id: string) => Promise<AnyRecord | undefined>;

const READERS: Readonly<Record<RecordKind, Reader>> = {
  async link(deps, ownerId, id) {
    const state = await linkOf(deps, ownerId, id);
    return state && renderLink(ownerId, state, deps.clock.now());
  },
  async handoff(deps, ownerId, id) {
    const state = await handoffOf(deps, ownerId, id);
    // The link and the lines of a list that a buyer made belong to the buyer.
    if (!state || state.made_by_buyer) return undefined;
    const shown = await handoffWithOutcome(deps, ownerId, state);
    return showHandoff(maskingDeps(deps), shown, { ownerId, at: deps.clock.now() });
  },
  async lead(deps, ownerId, id) {
    const state = await leadOf(deps, ownerId, id);
    return state && showLead(maskingDeps(deps), state, { ownerId, at: deps.clock.now() });
  },
  async product(deps, ownerId, id) {
    const product = deps.catalog.byId([id]).get(id);
    const settings = await readOwnerSettings(deps, ownerId);
    return (
      product && renderProduct(product, { staleBefore: staleBefore(settings, deps.clock.now()) })
    );
  },
};

/** The most values that MCP allows in one answer, and the rows that are read for them. */
const VALUES_MAX = 100;
const ROWS_MAX = 1_000;

type OwnRow = Partial<Pick<HandoffState, 'made_by_buyer'> & Pick<LinkState, 'dims'>>;

/** Collects values of the owner's newest records that begin with `prefix`; one more than an answer can have. */
const ownValues = async (
  { readModels }: Pick<Deps, 'readModels'>,
  { name, scope, prefix }: { name: string; scope: string; prefix: string },
  valueOf: (key: string, row: OwnRow) => string | undefined,
): Promise<string[]> => {
  const values = new Set<string>();
  let read = 0;
  for await (const page of listing<OwnRow>(readModels, name, { scope, limit: VALUES_MAX })) {
    for (const { key, row } of page) {
      const value = valueOf(key, row);
      if (value?.startsWith(prefix)) values.add(value);
    }
    read += page.length;
    if (values.size > VALUES_MAX || read >= ROWS_MAX) break;
  }
  return [...values];
};

type Completer = (deps: Deps, scope: string, prefix: string) => Promise<string[]>;

const COMPLETERS: Readonly<Record<CompletedKind, Completer>> = {
  link: (deps, scope, prefix) => ownValues(deps, { name: 'links', scope, prefix }, (key) => key),
  // The list that a buyer made belongs to the buyer.
  handoff: (deps, scope, prefix) =>
    ownValues(deps, { name: 'handoffs', scope, prefix }, (key, { made_by_buyer }) =>
      made_by_buyer ? undefined : key,
    ),
  lead: (deps, scope, prefix) => ownValues(deps, { name: 'leads', scope, prefix }, (key) => key),
  campaign: (deps, scope, prefix) =>
    ownValues(deps, { name: 'links', scope, prefix }, (_key, { dims }) => dims?.campaign),
  async product({ catalog }, _scope, prefix) {
    return catalog.startingWith('product_id', prefix, VALUES_MAX + 1);
  },
  async product_ref({ catalog }, _scope, prefix) {
    const found = (field: 'sku' | 'product_id') =>
      catalog.startingWith(field, prefix, VALUES_MAX + 1);
    return [...found('sku'), ...found('product_id')];
  },
};

const scopeOf = (kind: CompletedKind): Scope => {
  if (kind === 'campaign') return RECORDS.link.scope;
  return RECORDS[kind === 'product_ref' ? 'product' : kind].scope;
};

export const recordHandlers: RecordHandlers = {
  /**
   * Reads a record of the caller's owner from the log, or a product from the catalog. Another
   * owner's record is not found, like one that never existed.
   */
  async readRecord(deps, { kind, id }, { caller }) {
    const { scope, id: shape } = RECORDS[kind];
    if (!caller.scopes.has(scope)) return scopeMissing(`Reading a ${kind}`, scope, caller);
    const record = shape.test(id) ? await READERS[kind](deps, caller.ownerId, id) : undefined;
    return record ? done(record) : refuse('resource_not_found', `There is no such ${kind}.`);
  },

  /** Lists values of the caller's owner, newest first, or of the catalog. */
  async completeValue(deps, { kind, value }, { caller }) {
    const scope = scopeOf(kind);
    if (!caller.scopes.has(scope)) return scopeMissing(`Completing a ${kind}`, scope, caller);
    const values = await COMPLETERS[kind](deps, caller.ownerId, value);
    return done({ values: values.slice(0, VALUES_MAX), has_more: values.length > VALUES_MAX });
  },
};
