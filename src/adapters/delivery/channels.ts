import type { Channels } from '#src/ports/delivery.ts';
import type { Clock } from '#src/ports/system.ts';
import { a2aChannel } from './a2a.ts';
import { fileChannel } from './file.ts';
import { guardedRequest, type GuardOptions } from './guarded-request.ts';
import { webhookChannel } from './webhook.ts';

/** The delivery channels: the outbox directory, and two that send guarded requests. */
export const deliveryChannels = ({
  outboxDirectory,
  makeDirectory,
  guard,
  clock,
}: {
  outboxDirectory: string;
  makeDirectory(path: string): void;
  guard: GuardOptions;
  clock: Pick<Clock, 'now'>;
}): Channels => {
  const request = guardedRequest(guard);
  return {
    file: fileChannel({ directory: outboxDirectory, makeDirectory }),
    webhook: webhookChannel({ request, clock }),
    a2a: a2aChannel({ request, clock }),
  };
};
