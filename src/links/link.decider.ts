/** A link: created, and disabled by staff. */
import type { EventData, EventOf, LinkEventType } from '#contracts/registries/events.ts';
import {
  accept,
  asStored,
  type Decider,
  firstVersion,
  reject,
  type RecordVersion,
} from '#src/shared/decider.ts';
import { present } from '#src/shared/json.ts';

type Event = EventOf<LinkEventType>;

export type LinkCommand =
  | { type: 'CreateLink'; link: EventData<'LinkCreated'> }
  | { type: 'UpdateLink'; change: Omit<EventData<'LinkUpdated'>, 'link_id' | 'code' | 'agent_id'> }
  | { type: 'DisableLink'; reason: string };

export type LinkRejection = 'link_exists' | 'link_unknown' | 'link_stopped';

/** The state of a link. Expiry has no event and no status here: it follows from `expires_at` and the time. */
export type LinkState = EventData<'LinkCreated'> &
  RecordVersion & { status: 'active' | 'disabled' };

export const linkStatusAt = (
  { status, expires_at }: LinkState,
  at: number,
): LinkState['status'] | 'expired' =>
  status === 'active' && expires_at !== undefined && expires_at <= at ? 'expired' : status;

/** What names the link: the title that its product had, the category or the words of a search. */
export const nameOfLink = ({ name, target }: LinkState): string | undefined =>
  name ?? (target.kind === 'product' ? undefined : target.ref);

export const link: Decider<LinkState, LinkCommand, Event, LinkRejection> = {
  evolve(state, event) {
    if (event.type === 'LinkCreated') {
      return { ...event.data, status: 'active', ...firstVersion(event.at) };
    }
    if (!state) throw new Error(`${event.type} on a link that was never created`);
    const next = { updated_at: event.at, version: state.version + 1 };
    if (event.type === 'LinkDisabled') return { ...state, status: 'disabled', ...next };
    // A target that is no product has no name.
    const { link_id: _id, code: _code, agent_id: _agent, ...change } = event.data;
    return asStored({
      ...state,
      ...(change.target && { name: undefined }),
      ...present(change),
      ...next,
    });
  },

  decide(state, command) {
    switch (command.type) {
      case 'CreateLink':
        return state
          ? reject('link_exists', `link ${state.link_id} exists`)
          : accept({ type: 'LinkCreated', data: command.link });
      case 'UpdateLink': {
        if (!state) return reject('link_unknown', 'no such link');
        if (state.status === 'disabled')
          return reject('link_stopped', 'the link is disabled for good; create another one');
        const { link_id, code, agent_id } = state;
        const data = { link_id, code, agent_id, ...command.change };
        return accept({ type: 'LinkUpdated', data });
      }
      case 'DisableLink': {
        if (!state) return reject('link_unknown', 'no such link');
        if (state.status === 'disabled') return accept();
        const { link_id, code } = state;
        return accept({ type: 'LinkDisabled', data: { link_id, code, reason: command.reason } });
      }
    }
  },
};
