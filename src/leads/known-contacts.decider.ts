import type { EventData, EventOf } from '#contracts/registries/events.ts';
import { accept, type Decider, reject } from '#src/shared/decider.ts';

type Known = EventData<'KnownContactSubmitted'>;

/** The contacts that an agent submitted on one day and that were known already, each once for each lead. */
export const knownContacts: Decider<
  ReadonlySet<string>,
  { type: 'CountKnown'; known: Known; max: number },
  EventOf<'KnownContactSubmitted'>,
  'limit_reached'
> = {
  evolve: (state, { data }) => new Set([...(state ?? []), nameOf(data)]),

  decide(state, { known, max }) {
    if (state?.has(nameOf(known))) return accept();
    return state && state.size >= max
      ? reject('limit_reached', 'the agent submitted too many known contacts today')
      : accept({ type: 'KnownContactSubmitted', data: known });
  },
};

const nameOf = ({ lead_id, address }: Known): string => `${lead_id}/${address}`;
