import type { Scope } from '#contracts/scopes.ts';
import type { Handoff } from '#contracts/records/handoff.ts';
import type { Lead } from '#contracts/records/lead.ts';
import type { Link } from '#contracts/records/link.ts';
import type { Product } from '#contracts/records/product.ts';
import { lead } from '#src/domain/lead.ts';
import type { recordOperations } from '#contracts/index.ts';
import type { AgentCall, AgentCaller } from '../pipeline/call.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { stateOf } from '../events/fold.ts';
import type { Deps } from '../pipeline/deps.ts';
import { done, type Outcome, refuse, scopeMissing } from '../pipeline/outcome.ts';
import { showHandoff } from '../handoffs/render-handoff.ts';
import { showLead } from '../leads/render-lead.ts';
import { renderLink } from '../links/render-link.ts';
import { handoffOf, linkOf, streamOf } from './streams.ts';
import { renderProduct } from '../catalog/render-product.ts';

type Kind = { scope: Scope; id: RegExp };

/**
 * Records that can be read by id, and the scope that opens each: the one that reads its kind, and
 * where no scope reads it, the one that writes it.
 */
export const RECORDS = {
  link: { scope: 'links:write', id: /^lnk_[0-9a-z]{24}$/ },
  handoff: { scope: 'handoffs:write', id: /^hnd_[0-9a-z]{24}$/ },
  lead: { scope: 'leads:read', id: /^led_[0-9a-z]{24}$/ },
  product: { scope: 'products:read', id: /^prd_[0-9a-z]{24}$/ },
} as const satisfies Record<string, Kind>;

export type RecordKind = keyof typeof RECORDS;

export type RecordHandlers = {
  readRecord(
    deps: Deps,
    input: { kind: RecordKind; id: string },
    call: AgentCall,
  ): Promise<Outcome<Link | Handoff | Lead | Product>>;
};

/**
 * Reads a record of the caller's owner as the log has it; a product as the catalog has it. Another owner's
 * record is not found, like one that never existed.
 */
const readRecord: RecordHandlers['readRecord'] = async (deps, { kind, id }, { caller }) => {
  const { scope, id: shape } = RECORDS[kind];
  if (!caller.scopes.has(scope)) return scopeMissing(`Reading a ${kind}`, scope, caller);
  const record = shape.test(id) ? await recordOf(deps, caller.ownerId, kind, id) : undefined;
  return record ? done(record) : refuse('resource_not_found', `There is no such ${kind}.`);
};

export const recordHandlers: RecordHandlers = { readRecord };

export type RecordPipeline = Pipeline<typeof recordOperations, RecordHandlers, AgentCaller>;

const recordOf = async (
  deps: Deps,
  ownerId: string,
  kind: RecordKind,
  id: string,
): Promise<Link | Handoff | Lead | Product | undefined> => {
  const at = deps.clock.now();
  switch (kind) {
    case 'link': {
      const state = await linkOf(deps, ownerId, id);
      return state && renderLink(ownerId, state, at);
    }
    case 'handoff': {
      const state = await handoffOf(deps, ownerId, id);
      return state && showHandoff(deps, ownerId, state, at);
    }
    case 'lead': {
      const state = await stateOf(deps, { stream: streamOf(ownerId, 'lead', id), decider: lead });
      return state && showLead(deps, ownerId, state, at);
    }
    case 'product': {
      const product = deps.catalog.byId([id]).get(id);
      return product && renderProduct(product);
    }
  }
};
