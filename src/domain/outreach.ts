import type { EventData, EventOf, OutreachEventType } from '#contracts/events/index.ts';
import { accept, type Decider, reject } from './decider.ts';

type Event = EventOf<OutreachEventType>;
type Settings = EventData<'OutreachConfigured'>;
export type OutreachKind = EventData<'OutreachChannelDisabled'>['kind'];
export type OutreachChannel = NonNullable<Settings['channels'][OutreachKind]>;

export type OutreachCommand =
  | { type: 'Configure'; settings: Settings }
  | { type: 'Halt'; reason: string }
  | { type: 'Resume'; reason: string }
  | { type: 'DisableChannel'; kind: OutreachKind; reason: string };

export type OutreachRejection = 'never_configured';

/** Who approves an owner's outreach, where it goes, and whether it is halted. */
export type OutreachState = {
  settings?: Settings;
  /** Why nothing leaves; undefined while all is well. */
  halted?: string | undefined;
  disabled: Partial<Record<OutreachKind, string>>;
};

/** One stream per owner; the desk's own stream holds the halt that binds everybody. */
export const outreach: Decider<OutreachState, OutreachCommand, Event, OutreachRejection> = {
  evolve(state, event) {
    const before = state ?? { disabled: {} };
    switch (event.type) {
      case 'OutreachConfigured':
        return { ...before, settings: event.data, disabled: {} };
      case 'OutreachHalted':
        return { ...before, halted: event.data.reason };
      case 'OutreachResumed':
        return { ...before, halted: undefined };
      case 'OutreachChannelDisabled':
        return {
          ...before,
          disabled: { ...before.disabled, [event.data.kind]: event.data.reason },
        };
    }
  },

  decide(state, command) {
    switch (command.type) {
      case 'Configure':
        return accept({ type: 'OutreachConfigured', data: command.settings });
      case 'Halt':
        return state?.halted === undefined
          ? accept({ type: 'OutreachHalted', data: { reason: command.reason } })
          : accept();
      case 'Resume':
        // Written also where nothing was halted: who resumed has said so.
        return accept({ type: 'OutreachResumed', data: { reason: command.reason } });
      case 'DisableChannel': {
        const { kind, reason } = command;
        if (!state?.settings) return reject('never_configured', 'there is no such channel');
        return state.disabled[kind] === undefined
          ? accept({ type: 'OutreachChannelDisabled', data: { kind, reason } })
          : accept();
      }
    }
  },
};
