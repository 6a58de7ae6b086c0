/** Settings of outreach: channels, approvals and halts. */
import type { EventData, EventOf, OutreachEventType } from '#contracts/registries/events.ts';
import { accept, type Decider, reject } from '#src/shared/decider.ts';

type Event = EventOf<OutreachEventType>;
type Settings = EventData<'OutreachConfigured'>;
export type OutreachKind = EventData<'OutreachChannelDisabled'>['kind'];
export type OutreachChannel = NonNullable<Settings['channels'][OutreachKind]>;

export type OutreachCommand =
  | { type: 'Configure'; settings: Settings }
  | { type: 'Halt'; reason: string }
  | { type: 'Resume'; reason: string }
  | { type: 'SetAutomaticDelivery'; perDay: number }
  | { type: 'DisableChannel'; kind: OutreachKind; reason: string };

export type OutreachRejection = 'never_configured';

/** The approval mode and the channels of an owner's outreach, and whether it is halted. */
export type OutreachState = {
  settings?: Settings;
  /** The reason of the halt; undefined if outreach is not halted. */
  halted?: string;
  /** The reasons of the channels that are disabled. */
  disabled: Partial<Record<OutreachKind, string>>;
  /** Review links that are delivered a day without an approval; the owner sets it, and a new configuration keeps it. */
  automatic_per_day?: number;
};

/** One stream per owner. The stream of the desk contains the halt of all owners. */
export const outreach: Decider<OutreachState, OutreachCommand, Event, OutreachRejection> = {
  evolve(state, event) {
    const before = state ?? { disabled: {} };
    switch (event.type) {
      case 'OutreachConfigured':
        return { ...before, settings: event.data, disabled: {} };
      case 'OutreachHalted':
        return { ...before, halted: event.data.reason };
      case 'OutreachResumed': {
        const { halted: _, ...resumed } = before;
        return resumed;
      }
      case 'AutomaticDeliverySet':
        return { ...before, automatic_per_day: event.data.per_day };
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
        // Appended even if nothing is halted, as a record of who resumed.
        return accept({ type: 'OutreachResumed', data: { reason: command.reason } });
      case 'SetAutomaticDelivery':
        if (!state?.settings) return reject('never_configured', 'outreach is not configured');
        return (state.automatic_per_day ?? 0) === command.perDay
          ? accept()
          : accept({ type: 'AutomaticDeliverySet', data: { per_day: command.perDay } });
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
