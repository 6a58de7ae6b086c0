/** Claims of a lead's contact, and the bound on contacts that an agent submits although they are known. */
import type { EventData, EventOf } from '#contracts/registries/events.ts';
import { accept, type Decider, reject } from '#src/shared/decider.ts';

type Event = EventOf<'LeadClaimed' | 'LeadClaimReleased'>;
type Holder = Pick<EventData<'LeadClaimed'>, 'owner_id' | 'lead_id'>;

export type ContactClaimCommand =
  | { type: 'ClaimContact'; at: number; claim: EventData<'LeadClaimed'> }
  | { type: 'ReleaseContact'; holder: Holder };

export type ContactClaimRejection = 'held_by_other_owner' | 'held_by_this_owner' | 'not_held';

/** The last claim; undefined after its release. */
type ContactClaimState = { claim?: EventData<'LeadClaimed'> | undefined };

const isSameLead = (one: Holder, other: Holder): boolean =>
  one.owner_id === other.owner_id && one.lead_id === other.lead_id;

/** Which lead holds a contact. A claim ends by its release or at its expiry. */
export const contactClaim: Decider<
  ContactClaimState,
  ContactClaimCommand,
  Event,
  ContactClaimRejection
> = {
  evolve: (_state, event) => ({ claim: event.type === 'LeadClaimed' ? event.data : undefined }),

  decide(state, command) {
    const held = state?.claim;
    if (command.type === 'ReleaseContact') {
      const { owner_id, lead_id } = command.holder;
      return held && isSameLead(held, command.holder)
        ? accept({ type: 'LeadClaimReleased', data: { owner_id, lead_id } })
        : reject('not_held', 'the lead does not hold this contact');
    }
    const { at, claim } = command;
    if (held && isSameLead(held, claim)) return accept();
    if (held && held.expires_at > at)
      return held.owner_id === claim.owner_id
        ? reject('held_by_this_owner', 'another lead of this owner holds this contact')
        : reject('held_by_other_owner', 'a lead of another owner holds this contact');
    return accept({ type: 'LeadClaimed', data: claim });
  },
};

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
