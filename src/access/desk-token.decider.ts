import type { DeskTokenEventType, EventData, EventOf } from '#contracts/registries/events.ts';
import { accept, type Decider, reject } from '#src/shared/decider.ts';

type DeskTokenEvent = EventOf<DeskTokenEventType>;

export type DeskTokenCommand =
  | { type: 'IssueToken'; token: EventData<'DeskTokenIssued'> }
  | { type: 'RevokeToken'; reason: string };

export type DeskTokenRejection = 'token_exists' | 'token_unknown';

export type DeskTokenState = EventData<'DeskTokenIssued'> & { status: 'active' | 'revoked' };

export const deskToken: Decider<
  DeskTokenState,
  DeskTokenCommand,
  DeskTokenEvent,
  DeskTokenRejection
> = {
  evolve(state, event) {
    if (event.type === 'DeskTokenIssued') return { ...event.data, status: 'active' };
    if (!state) throw new Error(`${event.type} on a token that was never issued`);
    return { ...state, status: 'revoked' };
  },

  decide(state, command) {
    if (command.type === 'IssueToken')
      return state
        ? reject('token_exists', 'the token exists')
        : accept({ type: 'DeskTokenIssued', data: command.token });
    if (!state) return reject('token_unknown', 'no such token');
    if (state.status === 'revoked') return accept();
    const { token_id } = state;
    return accept({ type: 'DeskTokenRevoked', data: { token_id, reason: command.reason } });
  },
};
