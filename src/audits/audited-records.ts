/** The records of an owner as audits show them, from the rows of its read models. */
import type { AuditedKind } from '#contracts/audits/operations.ts';
import type { HandoffState } from '#src/handoffs/handoff.decider.ts';
import type { LeadState } from '#src/leads/lead.decider.ts';
import type { LinkState } from '#src/links/link.decider.ts';
import { isSettled, type OutboundState } from '#src/outreach/outbound.decider.ts';
import { isRfqOutcome } from '#src/handoffs/rfq.decider.ts';
import type { ReadModels } from '#src/ports/read-model.ts';
import { accessScope, type AgentRow, type KeyRow } from '#src/ports/rows.ts';
import { renderAgent } from '#src/access/agents.ts';
import { renderKey } from '#src/access/keys.ts';
import { readableHandoff, renderHandoff } from '#src/handoffs/render-handoff.ts';
import { showLead } from '#src/leads/render-lead.ts';
import { renderLink } from '#src/links/links.ts';
import {
  KEY_MISSING,
  openTexts,
  type OpeningVault,
  placeholderOf,
} from '#src/sealing/sealed-texts.ts';
import { renderOutbound } from '#src/outreach/requests.ts';

type Source = { readModel: string; scope(ownerId: string): string };

/** How audits show a record. `Row` is the row of its read model. */
type Kind<Row> = Source & {
  id(row: Row): string;
  /** What people call it. */
  name(row: Row): string;
  /** The last status that an event gave it. */
  status(row: Row): string;
  /** Whether only a correction can change the status. */
  hasEnded(row: Row): boolean;
  agentId(row: Row): string | undefined;
  render(row: Row, view: RecordView): Promise<object> | object;
};

type RecordView = { ownerId: string; at: number; vault: OpeningVault };

const sameScope = (ownerId: string): string => ownerId;
const agentOf = ({ agent_id }: { agent_id: string }): string => agent_id;
const LEAD_ENDS: ReadonlySet<string> = new Set([
  'rejected',
  'duplicate',
  'unqualified',
  'won',
  'lost',
  'withdrawn',
]);
const HANDOFF_ENDS: ReadonlySet<string> = new Set(['declined', 'withdrawn', 'invalidated']);

const defineKind = <Row>(kind: Kind<Row>): Kind<object> => kind as unknown as Kind<object>;

/** The kinds of record, each read from one read model. */
export const AUDITED: Readonly<Record<AuditedKind, Kind<object>>> = {
  link: defineKind<LinkState>({
    readModel: 'links',
    scope: sameScope,
    id: (row) => row.link_id,
    name: (row) => row.external_id ?? row.dims.campaign ?? row.code,
    status: (row) => row.status,
    hasEnded: (row) => row.status === 'disabled',
    agentId: agentOf,
    render: (row, { ownerId, at }) => renderLink(ownerId, row, at),
  }),
  handoff: defineKind<HandoffState>({
    readModel: 'handoffs',
    scope: sameScope,
    id: (row) => row.handoff_id,
    name: (row) => row.title,
    status: ({ status, rfq }) => (rfq && rfq.state !== 'confirmed' ? `rfq_${rfq.state}` : status),
    hasEnded: ({ status, rfq }) => (rfq ? isRfqOutcome(rfq.state) : HANDOFF_ENDS.has(status)),
    agentId: agentOf,
    async render(row, view) {
      const { email = '' } = row.buyer;
      const opened = await openTexts(view.vault, [row.erased ? '' : email]);
      const shown = await readableHandoff(view, row);
      const { review_url: _secret, ...handoff } = renderHandoff(shown, view, {
        opened,
        reviewToken: () => '',
      });
      return handoff;
    },
  }),
  lead: defineKind<LeadState>({
    readModel: 'leads',
    scope: sameScope,
    id: (row) => row.lead_id,
    name: (row) => row.company.name,
    status: (row) => row.state,
    hasEnded: (row) => LEAD_ENDS.has(row.state),
    agentId: agentOf,
    render: (row, view) => showLead(view, row, view),
  }),
  outreach: defineKind<OutboundState>({
    readModel: 'outbound',
    scope: sameScope,
    id: (row) => row.outbound_id,
    // Sorted: the members of an exported event are in another order.
    name: (row) => row.external_id ?? Object.values(row.target).sort().join(' '),
    status: (row) => row.status,
    hasEnded: isSettled,
    agentId: agentOf,
    render: (row, { ownerId, at }) => renderOutbound(ownerId, row, at),
  }),
  agent: defineKind<AgentRow>({
    readModel: 'access',
    scope: (ownerId) => accessScope(ownerId, 'agent'),
    id: (row) => row.agent_id,
    name: (row) => row.name,
    status: (row) => row.status,
    hasEnded: (row) => row.status === 'denied',
    agentId: agentOf,
    render: (row, { ownerId }) => renderAgent(ownerId, row),
  }),
  key: defineKind<KeyRow>({
    readModel: 'access',
    scope: (ownerId) => accessScope(ownerId, 'key'),
    id: (row) => row.key_id,
    name: (row) => `trb_${row.environment}_${row.key_id}…${row.last4}`,
    status: (row) => row.status,
    hasEnded: (row) => row.status === 'revoked',
    agentId: agentOf,
    render: (row, { ownerId, at }) => renderKey(ownerId, row, { at }),
  }),
};

/** A vault that opens nothing: what it would open is shown as `[sealed]`. */
const CLOSED: OpeningVault = {
  unseal: async (texts) => texts.map(() => KEY_MISSING),
};

const UNREADABLE = placeholderOf(KEY_MISSING);
const SEALED = '[sealed]';

const sealUnread = (value: unknown): unknown => {
  if (value === UNREADABLE) return SEALED;
  if (Array.isArray(value)) return value.map(sealUnread);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, sealUnread(inner)]),
  );
};

/** Shows something with the texts that the vault opens; without one they are `[sealed]`. */
export const showSealed = async (
  vault: OpeningVault | undefined,
  show: (vault: OpeningVault) => Promise<object> | object,
): Promise<Record<string, unknown>> => {
  const shown = await show(vault ?? CLOSED);
  return (vault ? shown : sealUnread(shown)) as Record<string, unknown>;
};

/**
 * Renders a record. Without a vault its personal data is shown as `[sealed]`, or as `[erased]` after the erasure that the
 * row has seen: the answer depends on the log alone.
 */
export const renderAudited = async (
  kind: AuditedKind,
  row: object,
  { vault, ...view }: { ownerId: string; at: number; vault?: OpeningVault | undefined },
): Promise<{ status: string; record: Record<string, unknown> }> => {
  const record = await showSealed(vault, (opening) =>
    AUDITED[kind].render(row, { ...view, vault: opening }),
  );
  return { status: String(record['status'] ?? record['state']), record };
};

/** The name of the agent; undefined before it exists. */
export const agentNameOf = async (
  { rows }: { rows: ReadModels },
  owner: string,
  agentId: string | undefined,
): Promise<string | undefined> =>
  agentId === undefined
    ? undefined
    : (await rows.get<AgentRow>('access', accessScope(owner, 'agent'), agentId))?.name;
