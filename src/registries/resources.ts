/** The table of handlers that read a record as a resource of MCP, and complete values of its kinds. */
import type { OwnRecord, RecordKind } from '#contracts/records/records.ts';
import { allows, type NeededScope } from '#contracts/scopes.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { Pipeline } from '#src/calls/pipeline.ts';
import type { AgentActor, SignaturesOf } from '#src/calls/rules.ts';
import type { HandoffState } from '#src/handoffs/handoff.decider.ts';
import type { LinkState } from '#src/links/link.decider.ts';
import type { PerformanceDeps } from '#src/performance/get-performance.ts';
import { listing } from '#src/reading/lists.ts';
import { readOwnRecord, RECORD_SCOPES } from '#src/records/read-record.ts';
import type { AgentCall } from '#src/shared/call.ts';
import { done, type Outcome, scopeMissing } from '#src/shared/outcome.ts';

/** What can be completed: ids of each kind of record, SKUs or ids of products, and campaigns of links. */
export type CompletedKind = RecordKind | 'product_ref' | 'campaign';

export type RecordHandlers = {
  readRecord(
    deps: PerformanceDeps,
    input: { kind: RecordKind; id: string },
    call: AgentCall,
  ): Promise<Outcome<OwnRecord>>;
  completeValue(
    deps: Deps,
    input: { kind: CompletedKind; value: string },
    call: AgentCall,
  ): Promise<Outcome<{ values: string[]; has_more: boolean }>>;
};

export type RecordPipeline = Pipeline<SignaturesOf<RecordHandlers>, AgentActor<PerformanceDeps>>;

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
  outreach: (deps, scope, prefix) =>
    ownValues(deps, { name: 'outbound', scope, prefix }, (key) => key),
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

const scopeOf = (kind: CompletedKind): NeededScope => {
  if (kind === 'campaign') return RECORD_SCOPES.link;
  return RECORD_SCOPES[kind === 'product_ref' ? 'product' : kind];
};

export const recordHandlers: RecordHandlers = {
  readRecord: readOwnRecord,

  /** Lists values of the caller's owner, newest first, or of the catalog. */
  async completeValue(deps, { kind, value }, { caller }) {
    const scope = scopeOf(kind);
    if (!allows(scope, caller.scopes)) return scopeMissing(`Completing a ${kind}`, scope, caller);
    const values = await COMPLETERS[kind](deps, caller.ownerId, value);
    return done({ values: values.slice(0, VALUES_MAX), has_more: values.length > VALUES_MAX });
  },
};
