/** Lists the promoters with who they are, their agents, and when they last did something. */
import { LISTED_AGENTS_MAX } from '#contracts/owners/operations.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';
import { accessScope, type AgentRow, ALL_OWNERS, type OwnerRow } from '#src/ports/rows.ts';
import { pageOf } from '#src/reading/lists.ts';
import { newestEntries } from '#src/reading/owner-index.ts';
import { done } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { iso, renderAsOf } from '#src/shared/time.ts';
import { openProfile, readProfile } from './profile.ts';

const renderOwner = async (deps: Deps, owner: string) => {
  const { readModels } = deps;
  const [state, agents, [newest]] = await Promise.all([
    readProfile(deps, owner),
    pageOf<AgentRow>(readModels, 'access', {
      scope: accessScope(owner, 'agent'),
      limit: LISTED_AGENTS_MAX,
    }),
    newestEntries(readModels, { owner, below: Infinity, limit: 1 }),
  ]);
  const profile = await openProfile(deps, state);
  return {
    owner_id: owner,
    ...present({ name: profile?.name }),
    mailbox_confirmed: state?.confirmed_at !== undefined,
    agents: agents.rows.map(({ agent_id: id, name, status }) => ({ id, name, status })),
    more_agents: agents.next_before !== null,
    last_activity_at: newest ? iso(newest.at) : null,
  };
};

export const listOwners: DeskHandler<'listOwners'> = async (deps, query) => {
  const { readModels, following } = deps;
  const page = { ...query, scope: ALL_OWNERS };
  const { rows, next_before } = await pageOf<OwnerRow>(readModels, 'owners', page);
  const data = await Promise.all(rows.map(({ owner }) => renderOwner(deps, owner)));
  return done({ data, next_before, as_of: renderAsOf(following.asOf()) });
};
