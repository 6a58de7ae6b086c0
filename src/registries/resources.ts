/** The table of handlers that read a record as a resource of MCP. */
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
import { handoffOf, leadOf, linkOf } from '#src/writing/streams.ts';
import { renderProduct } from '#src/catalog/products.ts';

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
type AnyRecord = Link | Handoff | Lead | Product;

export type RecordHandlers = {
  readRecord(
    deps: Deps,
    input: { kind: RecordKind; id: string },
    call: AgentCall,
  ): Promise<Outcome<AnyRecord>>;
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
  async product({ catalog }, _ownerId, id) {
    const product = catalog.byId([id]).get(id);
    return product && renderProduct(product);
  },
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
};
