/** The operation that shows an agent its key, scopes and limits. */
import type { LastRequest } from './access.decider.ts';
import type { z } from 'zod';
import type { connection } from '#contracts/access/records.ts';
import { CHANNEL_KINDS } from '#contracts/outreach/records.ts';
import { BOUNDARIES } from '#contracts/boundaries.ts';
import { agentOperations } from '#contracts/registries/agents.ts';
import { publishedLimits } from '#contracts/limits.ts';
import { liveOwnerOf } from '#contracts/spaces.ts';
import { allows, SCOPE_NAMES, SCOPES, type Scope } from '#contracts/scopes.ts';
import { measureLag } from '#src/reading/lag.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { iso } from '#src/shared/time.ts';
import type { Deps, Handler } from '#src/calls/handlers.ts';
import { OUTREACH_SETTINGS } from '#src/ports/rows.ts';
import type { OutreachState } from '#src/sending/settings.decider.ts';

type Connection = z.output<typeof connection>;

const HOW_TO_GET =
  'Ask the owner to request it: POST /api/desk/v1/agents with the wider list of scopes; staff review it.';

export const renderRequest = ({ scopes, outcome, ...request }: LastRequest) => ({
  scopes: scopes as Scope[],
  requested_at: iso(request.requested_at),
  outcome,
  ...present({ reason: request.reason }),
  ...(request.decided_at !== undefined && { decided_at: iso(request.decided_at) }),
});

/** Who approves outreach, and the kinds that have a channel which is not disabled; empty if none is configured. */
const outreachOf = async (
  { readModels }: Pick<Deps, 'readModels'>,
  ownerId: string,
): Promise<Pick<Connection, 'outreach'>> => {
  const scope = liveOwnerOf(ownerId);
  const row = await readModels.get<OutreachState>('outreach-settings', scope, OUTREACH_SETTINGS);
  const { settings, disabled = {} } = row ?? {};
  if (!settings) return {};
  const { mode: approval, approvals_required, channels } = settings;
  const open = CHANNEL_KINDS.filter((kind) => channels[kind] && disabled[kind] === undefined);
  return { outreach: { approval, approvals_required, channels: open } };
};

export const getConnection: Handler<'getConnection'> = async (deps, _input, { caller }) => {
  const key = deps.credentials.key(caller.keyId);
  const agent = deps.credentials.agent(caller.agentId);
  if (!key || !agent || key.status === 'revoked')
    return refuse('credential_revoked', 'The key was revoked.');
  const { position } = await deps.log.head();
  const { position: checkpoint } = deps.following.asOf();
  const lag = await measureLag(deps, { checkpoint, head: position });
  const origin = deps.origin();
  return done({
    agent: { id: agent.agent_id, name: agent.name, owner_id: caller.ownerId },
    key: {
      id: key.key_id,
      prefix: `trb_${key.environment}_${key.key_id}`,
      last4: key.last4,
      created_at: iso(key.created_at),
      expires_at: iso(key.expires_at),
      status: key.status,
    },
    environment: caller.environment,
    scopes: SCOPE_NAMES.map((name) => {
      const granted = caller.scopes.has(name);
      return { name, ...SCOPES[name], granted, ...(!granted && { how_to_get: HOW_TO_GET }) };
    }),
    granted_scopes: SCOPE_NAMES.filter((name) => caller.scopes.has(name)),
    review: {
      status: agent.status,
      decided_at: agent.decided_at === undefined ? null : iso(agent.decided_at),
      ...(agent.pending && { pending_scopes: agent.pending.scopes as Scope[] }),
      last_request: renderRequest(agent.last_request),
    },
    operations: Object.values(agentOperations).map(({ id, scope }) => ({
      id,
      allowed: allows(scope, caller.scopes),
    })),
    limits: publishedLimits(deps.limits),
    boundaries: BOUNDARIES.map((boundary) => ({ ...boundary })),
    ...(await outreachOf(deps, caller.ownerId)),
    links: {
      openapi: `${origin}/api/affiliate/openapi.json`,
      mcp: `${origin}/api/affiliate/mcp`,
      mcp_status: `${origin}/api/affiliate/mcp/status`,
      agent_card: `${origin}/.well-known/agent-card.json`,
      llms_txt: `${origin}/llms.txt`,
      problems: `${origin}/problems`,
      portal: `${origin}/`,
      short_links: `${origin}/l/`,
    },
    consistency: {
      position,
      projection_lag_events: lag.events,
    },
  });
};
