import { LINK_EVENTS, type LinkEventType } from '#contracts/events/index.ts';
import type { CodeRow } from '#src/ports/rows.ts';
import { typedEvent } from './typed-event.ts';
import type { Projection } from './projection.ts';

/** The link of each short code, as far as a redirect and its visit need it. */
export const codes: Projection<CodeRow> = {
  name: 'codes',
  version: 1,
  handles: LINK_EVENTS,
  begins: ['LinkCreated'],
  place(event) {
    const { data } = typedEvent<LinkEventType>(event);
    return { scope: data.code, key: '' };
  },
  evolve(row, event) {
    const { type, data } = typedEvent<LinkEventType>(event);
    if (type === 'LinkDisabled') {
      if (!row) throw new Error(`${data.code} was disabled and never created`);
      row.disabled = true;
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
