/** Read models of links: each owner's links, and the codes by which visitors find them. */
import { LINK_EVENTS, type LinkEventType, type Happened } from '#contracts/registries/events.ts';
import type { OwnerSettings } from '#src/owners/profile.decider.ts';
import { type CodeRow, OWNER_SETTINGS } from '#src/ports/rows.ts';
import { type Projection, typedEvent } from './projection.ts';
import { link, type LinkState, nameOfLink } from '#src/links/link.decider.ts';
import { listsOfRecord, ownerRecords, type RecordRow } from './owner-records.ts';

type Event = LinkEventType | 'OwnerProfileSet' | 'OwnerProfileRemoved';

/** The link of each short code, and the settings of each owner, as far as a redirect and the pages after it need them. */
export const codes: Projection<CodeRow | OwnerSettings> = {
  name: 'codes',
  version: 5,
  handles: [...LINK_EVENTS, 'OwnerProfileSet', 'OwnerProfileRemoved'],
  begins: ['LinkCreated'],
  place(event) {
    const { data } = typedEvent<Event>(event);
    return 'code' in data
      ? { scope: data.code, key: '' }
      : { scope: event.owner, key: OWNER_SETTINGS };
  },
  evolve(row, event) {
    const { type, data } = typedEvent<Event>(event);
    if (type === 'OwnerProfileRemoved') return null;
    if (type === 'OwnerProfileSet') {
      const { answers, attribution_days, fallback, stale_stock_days, sealed_profile } = data;
      return {
        sealed_profile,
        ...(attribution_days !== undefined && { attribution_days }),
        ...(fallback && { fallback }),
        ...(answers && { answers }),
        ...(stale_stock_days !== undefined && { stale_stock_days }),
      };
    }
    if (type === 'LinkDisabled') {
      if (!row || !('disabled' in row))
        throw new Error(`${data.code} was disabled and never created`);
      row.disabled = true;
      return row;
    }
    if (type === 'LinkUpdated') {
      if (!row || !('disabled' in row))
        throw new Error(`${data.code} was updated and never created`);
      if (data.destination_url !== undefined) row.destination_url = data.destination_url;
      if (data.dims !== undefined) row.dims = data.dims;
      if (data.expires_at !== undefined) row.expires_at = data.expires_at;
      return row;
    }
    const { link_id, agent_id, destination_url, expires_at, expired_url, dims } = data;
    const created: CodeRow = {
      owner: event.owner,
      link_id,
      agent_id,
      destination_url,
      dims,
      disabled: false,
    };
    if (expires_at !== undefined) created.expires_at = expires_at;
    if (expired_url !== undefined) created.expired_url = expired_url;
    return created;
  },
};

/** The links of each owner, newest first, and by what agents find them. */
export const links: Projection<RecordRow<LinkState>> = {
  ...ownerRecords({
    name: 'links',
    version: 2,
    handles: LINK_EVENTS,
    begins: ['LinkCreated'],
    keyOf: ({ data }: Happened<LinkEventType>) => data.link_id,
    fold: link.evolve,
  }),
  lists: (row) =>
    listsOfRecord(row, {
      status: row.status,
      campaigns: [row.dims.campaign],
      external_id: row.external_id,
      texts: [nameOfLink(row), row.slug],
    }),
};
