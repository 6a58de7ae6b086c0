import type { ApplicationEventType, EventData, EventOf } from '#contracts/registries/events.ts';
import {
  accept,
  type Decider,
  firstVersion,
  nextVersion,
  reject,
  type RecordVersion,
} from '#src/shared/decider.ts';

type ApplicationEvent = EventOf<ApplicationEventType>;
type Received = EventData<'ApplicationReceived'>;

export type ApplicationCommand =
  | { type: 'Receive'; application: Received }
  | { type: 'ConfirmApplication'; at: number; ownerId: string; agentId: string }
  | { type: 'EndApplication'; reason: string };

export type ApplicationRejection = 'application_unknown' | 'application_over';

/** A public application for access. Its texts can be read while it waits for its confirmation. */
export type ApplicationState = Received &
  RecordVersion & {
    status: 'waiting' | 'confirmed' | 'ended';
    confirmed?: { owner_id: string; agent_id: string; at: number };
  };

export const application: Decider<
  ApplicationState,
  ApplicationCommand,
  ApplicationEvent,
  ApplicationRejection
> = {
  evolve(state, event) {
    const { at } = event;
    if (event.type === 'ApplicationReceived')
      return { ...event.data, status: 'waiting', ...firstVersion(at) };
    if (!state) throw new Error(`${event.type} on an application that was never received`);
    const next = { ...state, ...nextVersion(state, at) };
    if (event.type === 'SubjectErased')
      return state.status === 'waiting' ? { ...next, status: 'ended' } : next;
    const { owner_id, agent_id } = event.data;
    return { ...next, status: 'confirmed', confirmed: { owner_id, agent_id, at } };
  },

  decide(state, command) {
    if (command.type === 'Receive')
      return accept({ type: 'ApplicationReceived', data: command.application });
    if (!state) return reject('application_unknown', 'no such application');
    const { application_id, status, expires_at } = state;
    const erase = (reason: string): ApplicationEvent => ({
      type: 'SubjectErased',
      data: { subject: application_id, reason },
    });
    if (command.type === 'EndApplication')
      return status === 'waiting' ? accept(erase(command.reason)) : accept();
    if (status === 'confirmed') return accept();
    const { at, ownerId: owner_id, agentId: agent_id } = command;
    return status === 'ended' || at >= expires_at
      ? reject('application_over', 'the application was not confirmed in time, or was ended')
      : accept<ApplicationEvent>(
          { type: 'ApplicationConfirmed', data: { application_id, owner_id, agent_id } },
          // From now on the profile has its texts.
          erase('It was confirmed.'),
        );
  },
};
