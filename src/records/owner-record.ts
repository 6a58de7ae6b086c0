/** What people who act for an owner read of its records: one of them, and what changed. */
import { type DeskHandler, mayActFor, NO_OWNER } from '#src/calls/desk-handler.ts';
import { showDeskHandoff } from '#src/handoffs/read-rfq.ts';
import { renderOwnerLead } from '#src/leads/render-lead.ts';
import { renderDeskLink } from '#src/links/desk-links.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { handoffOf, leadOf, linkOf } from '#src/writing/streams.ts';
import { renderAsOf } from '#src/shared/time.ts';
import { readChanges, type Viewer } from './changes.ts';

const NO_RECORD = refuse('resource_not_found', 'There is no such record of this owner.');

export const readOwnerRecord: DeskHandler<'readOwnerRecord'> = async (
  deps,
  { owner_id: ownerId, id },
  call,
) => {
  if (!mayActFor(call, ownerId)) return NO_OWNER;
  const view = { ownerId, at: call.at };
  if (id.startsWith('lnk_')) {
    const link = await linkOf(deps, ownerId, id);
    return link ? done({ link: renderDeskLink(deps, link, view) }) : NO_RECORD;
  }
  if (id.startsWith('hnd_')) {
    const handoff = await handoffOf(deps, ownerId, id);
    return handoff ? done({ handoff: await showDeskHandoff(deps, handoff, view) }) : NO_RECORD;
  }
  const lead = await leadOf(deps, ownerId, id);
  return lead ? done({ lead: renderOwnerLead(lead, view) }) : NO_RECORD;
};

/** Owners see of their records what all their agents see together. */
const EVERYTHING: Viewer = {
  isLinkShown: true,
  isHandoffShown: true,
  isLeadShown: true,
  isOutboundShown: () => true,
  isAgentShown: () => true,
};

export const listOwnerChanges: DeskHandler<'listOwnerChanges'> = async (deps, input, call) => {
  const { owner_id: ownerId, after = 0, limit } = input;
  if (!mayActFor(call, ownerId)) return NO_OWNER;
  const asOf = deps.following.asOf();
  const reader = { ownerId, viewer: EVERYTHING };
  const { data, next, isEnd } = await readChanges(deps, reader, { after, limit });
  return done({ data, next_after: next, has_more: !isEnd, as_of: renderAsOf(asOf) });
};
