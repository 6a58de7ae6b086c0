import type { LinkState } from './link.decider.ts';
import { listRows } from '#src/reading/list-rows.ts';
import { renderLink } from './render-link.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';

export const listLinks: DeskHandler<'listLinks'> = (deps, query, call) =>
  listRows(deps, call, {
    name: 'links',
    scope: query.owner_id,
    query,
    render: (row: LinkState) => renderLink(query.owner_id, row, call.at),
  });
