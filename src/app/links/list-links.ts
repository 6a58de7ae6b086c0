import type { LinkState } from '#src/domain/link.ts';
import { type DeskHandler, mayActFor, NO_OWNER } from '../pipeline/desk-handler.ts';
import { done } from '../pipeline/outcome.ts';
import { pageOf } from '../read-models/listing.ts';
import { renderAsOf } from '../shared/time.ts';
import { renderLink } from './render-link.ts';

export const listLinks: DeskHandler<'listLinks'> = async (deps, input, call) => {
  if (!mayActFor(call, input.owner_id)) return NO_OWNER;
  const { rows, next_before } = await pageOf<LinkState>(deps.readModels, 'links', {
    ...input,
    scope: input.owner_id,
  });
  const data = rows.map((row) => renderLink(input.owner_id, row, call.at));
  return done({ data, next_before, as_of: renderAsOf(deps.following.asOf()) });
};
