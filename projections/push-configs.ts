import type { PushEventType } from '#contracts/registries/events.ts';
import { listBy, OPEN_PUSH, type PushRow } from '#src/ports/rows.ts';
import { type Projection, typedEvent } from './projection.ts';

/** The push notification configurations of all owners that are not deleted, without their secrets. */
export const pushConfigs: Projection<PushRow> = {
  name: 'push-configs',
  version: 1,
  handles: ['PushConfigCreated', 'PushConfigDeleted'],
  place: (event) => ({ scope: OPEN_PUSH, key: typedEvent<PushEventType>(event).data.push_id }),
  evolve(row, event) {
    const { type, data } = typedEvent<'PushConfigCreated' | 'PushConfigDeleted'>(event);
    if (type === 'PushConfigDeleted') return null;
    const { task, config_id, url, scheme } = data;
    return {
      owner: event.owner,
      task,
      config_id,
      url,
      ...(scheme !== undefined && { scheme }),
      sort: row ? row.sort : event.position,
    };
  },
  sort: (row) => row.sort,
  lists: ({ owner, task, sort }) => [
    [listBy({ owner }), sort],
    [listBy({ owner, task }), sort],
  ],
};
