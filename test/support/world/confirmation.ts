/** What the holder of a buyer's mailbox does, with the link that the mail has. */
import { confirmationTokenOf, requestPath } from '#src/shared/signing.ts';
import { findHandoff } from '#src/handoffs/review.ts';
import { handoffOf } from '#src/writing/streams.ts';
import type { TestApp } from './app.ts';

type Sent = { id: string; ownerId?: string };

/** The path of the link that confirms the newest sending of a list. */
export const confirmationPath = async (
  { service: { deps } }: Pick<TestApp, 'service'>,
  { id, ownerId = 'acme' }: Sent,
): Promise<string> => {
  const number = (await handoffOf(deps, ownerId, id))?.rfqs_sent ?? 0;
  return requestPath(confirmationTokenOf(deps.secrets, { handoffId: id, number }));
};

/** The path of the link that confirms the newest sending of the list of a review link. */
export const mailedPath = async (
  app: Pick<TestApp, 'service'>,
  reviewUrl: string,
): Promise<string> => {
  const row = await findHandoff(app.service.deps, reviewUrl.split('/').at(-1) ?? '');
  return confirmationPath(app, { id: row?.handoff_id ?? '', ownerId: row?.owner ?? '' });
};

/** Confirms the RFQ of a list, as its page does. */
export const confirmRfq = async (app: TestApp, { id, ownerId = 'acme' }: Sent): Promise<void> => {
  const path = await confirmationPath(app, { id, ownerId });
  const revision = (await handoffOf(app.service.deps, ownerId, id))?.list_revision;
  const answer = await app.send({
    method: 'POST',
    url: `${path}/confirm`,
    payload: `list_revision=${revision}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  if (answer.status !== 303) throw new Error(`${answer.status}: ${answer.text}`);
};
