import type { Channels } from '#src/ports/delivery.ts';
import type { Clock } from '#src/ports/system.ts';
import { a2aChannel } from './a2a.ts';
import { fileChannel } from './file.ts';
import { guardedRequest, type GuardOptions } from './guarded-request.ts';
import type { Outbox } from './stored-file.ts';
import { webhookChannel } from './webhook.ts';

/** The delivery channels: the outbox directory, and two that send guarded requests. */
export const deliveryChannels = (
  outbox: Outbox,
  { guard, clock }: { guard: GuardOptions; clock: Pick<Clock, 'now'> },
): Channels => {
  const http = { request: guardedRequest(guard), clock };
  return { file: fileChannel(outbox), webhook: webhookChannel(http), a2a: a2aChannel(http) };
};
