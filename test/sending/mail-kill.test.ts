/** SIGKILL while an SMTP server has the message and the service does not know it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { Service } from '#src/main.ts';
import { endMailServers, mailServer } from '../support/dispatch/mail-server.ts';
import { withService } from '../support/dispatch/service-in-process.ts';
import { type ChildService, endChildren, serveChild } from '../support/processes/child-service.ts';
import { directories } from '../support/processes/directories.ts';
import { feedProduct, freshKey } from '../support/world/app.ts';
import { buyerOver } from '../support/world/server-over.ts';

const { fresh, removeAll } = directories('mail-kill-');
afterEach(endMailServers);
afterAll(async () => {
  await endChildren();
  removeAll();
});

/** An attempt whose sender is gone ends after this, and its repetition is due. */
const LATER_MS = 120_000;

/** A server that ends the sender with SIGKILL after it has received such a message and before it answers. */
const deadlyServer = async (subject: string) => {
  let sender: ChildService | undefined;
  const isDeadly = ({ raw }: { raw: string }): boolean => raw.includes(`\r\nSubject: ${subject}`);
  const server = await mailServer({}, (n) => {
    const message = server.received[n - 1];
    if (message && isDeadly(message)) sender?.child.kill('SIGKILL');
  });
  const settings = {
    DATA_DIR: fresh(),
    MAIL_URL: server.url,
    MAIL_FROM: 'no-reply@house.example',
  };
  return {
    settings,
    messageIds: () =>
      server.received.filter(isDeadly).map(({ raw }) => /^Message-ID: .*$/m.exec(raw)?.[0]),
    /** Serves until the server has ended the process. */
    async serveUntilKilled(): Promise<void> {
      sender = await serveChild(settings.DATA_DIR, settings);
      if (sender.child.exitCode === null && sender.child.signalCode === null)
        await new Promise((resolve) => sender?.child.once('exit', resolve));
      expect(sender.child.signalCode).toBe('SIGKILL');
      sender = undefined;
    },
    /** Dispatches what is due after `laterMs`; returns the events so far of the messages of this kind. */
    dispatchLater: (laterMs: number, kind: string) =>
      withService({ settings, laterMs }, async ({ dispatcher, deps }) => {
        dispatcher.start();
        await dispatcher.idle();
        const events = await deps.log.readAll({ after: 0, limit: 10_000 });
        const queued = events.find(({ data }) => 'kind' in data && data.kind === kind);
        return events.flatMap(({ type, stream }) => (stream === queued?.stream ? [type] : []));
      }),
  };
};

/** Sends commands to the desk of a service that does not listen. */
const deskOf = ({ server, config }: Service) => {
  const token = readFileSync(join(config.dataDirectory, 'desk.token'), 'utf8').trim();
  return async (path: string, payload: object): Promise<Record<string, string>> => {
    const headers = { authorization: `Bearer ${token}`, 'idempotency-key': freshKey() };
    const url = `/api/desk/v1${path}`;
    const answer = await server.inject({ method: 'POST', url, payload, headers });
    if (answer.statusCode >= 300) throw new Error(answer.body);
    return answer.json();
  };
};

/** Sends an RFQ, which queues the link that confirms it. */
const requestRfq = async (service: Service): Promise<void> => {
  const desk = deskOf(service);
  await desk('/products/import', { products: [feedProduct('MUG-1')] });
  const agent = { owner_id: 'acme', name: 'A', purpose: 'P', scopes: ['handoffs:write'] };
  const { id = '' } = await desk('/access-grants', { ...agent, reason: 'Known' });
  const { api_key } = await desk(`/agents/${id}/keys`, {});
  const made = await service.server.inject({
    method: 'POST',
    url: '/api/affiliate/v1/handoffs',
    payload: { title: 'Mugs', line_items: [{ sku: 'MUG-1', quantity: 48 }] },
    headers: { authorization: `Bearer ${api_key}`, 'idempotency-key': freshKey() },
  });
  const { review_url } = made.json<{ review_url: string }>();
  const contact = { name: 'Bea Buyer', email: 'bea@shop.example' };
  const sent = { list_revision: 1, consent: true, contact };
  expect(await buyerOver(service.deps, review_url).send(sent)).toMatchObject({ ok: true });
};

/** Denies access of an owner with a confirmed mailbox, which queues the notice of the decision. */
const decideAccess = async (service: Service): Promise<void> => {
  const desk = deskOf(service);
  const mailbox = 'ada@acme.example';
  const profile = { name: 'Ada', postal_address: 'London', mailbox };
  await desk('/owners/acme/profile', profile);
  await desk('/owners/acme/mailbox/confirm', { mailbox, reason: 'Ada called' });
  const agent = { owner_id: 'acme', name: 'A', purpose: 'P', scopes: ['products:read'] };
  const { id = '' } = await desk('/agents', agent);
  await desk(`/agents/${id}/deny`, { reason: 'Unknown' });
};

describe('A service that is killed while an SMTP server has its message', () => {
  it('A service that is killed while an SMTP server has its message sends a confirmation once more, as the same message', async () => {
    const { settings, serveUntilKilled, dispatchLater, messageIds } = await deadlyServer('Confirm');
    await withService({ settings }, requestRfq);
    await serveUntilKilled();
    // The sender may still run, so the next process waits for its end.
    expect(await dispatchLater(0, 'rfq_confirmation')).toEqual(['MailQueued', 'MailDispatched']);
    expect(await dispatchLater(LATER_MS, 'rfq_confirmation')).toEqual([
      'MailQueued',
      'MailDispatched',
      'MailDeferred',
      'MailDispatched',
      'MailSent',
    ]);
    const [first, ...more] = messageIds();
    expect(more).toEqual([first]);
  });

  it('A service that is killed while an SMTP server has its message never repeats a notice that must not come twice, and records that its outcome is unknown', async () => {
    const { settings, serveUntilKilled, dispatchLater, messageIds } = await deadlyServer('Access');
    await withService({ settings }, decideAccess);
    await serveUntilKilled();
    const events = await dispatchLater(LATER_MS, 'access_decision');
    expect(events).toEqual(['MailQueued', 'MailDispatched', 'MailOutcomeUnknown']);
    expect(messageIds()).toHaveLength(1);
  });
});
