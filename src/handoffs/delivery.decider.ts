/** The automatic deliveries of an owner on one day, each counted once. */
import type { EventOf } from '#contracts/registries/events.ts';
import { accept, type Decider, reject } from '#src/shared/decider.ts';

export const countedDeliveries: Decider<
  ReadonlySet<string>,
  { type: 'CountDelivery'; outboundId: string; max: number },
  EventOf<'DeliveryCounted'>,
  'limit_reached'
> = {
  evolve: (state, { data }) => new Set([...(state ?? []), data.outbound_id]),

  decide(state, { outboundId: outbound_id, max }) {
    if (state?.has(outbound_id)) return accept();
    return (state?.size ?? 0) >= max
      ? reject('limit_reached', 'as many links were delivered today as the owner allows')
      : accept({ type: 'DeliveryCounted', data: { outbound_id } });
  },
};
