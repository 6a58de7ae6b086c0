import type { EventData, EventOf } from '#contracts/events/index.ts';
import { accept, type Decider } from '../decider.ts';

type Request = EventData<'PrivacyRequestRecorded'>;

export type MailboxState = {
  /** The newest request. */
  request: Request;
};

/** What was asked for the person of a mailbox. Nothing is rejected: each request is recorded. */
export const mailboxRequests: Decider<
  MailboxState,
  { type: 'RecordRequest'; request: Request },
  EventOf<'PrivacyRequestRecorded'>,
  never
> = {
  evolve: (_state, { data }) => ({ request: data }),
  decide: (_state, { request }) => accept({ type: 'PrivacyRequestRecorded', data: request }),
};
