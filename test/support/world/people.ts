/** Records with the contact of a person, and what the desk does for the person. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { canonicalAddress } from '#contracts/mailbox.ts';
import { until } from '../clients/cli.ts';
import { HANG_MS } from '../hang.ts';
import { freshKey, type TestApp } from './app.ts';
import { atDesk } from './desk-scenes.ts';
import { buyerOver } from './server-over.ts';

type Created = { id: string; state: string; review_url: string };

export const PROOF = 'Ticket 4711';
const CONSENT = { basis: 'consent', obtained_at: '2026-11-19T10:00:00Z' };
const COMPANY = { name: 'Shop', country: 'GB' };

/** Acts of agents and of the desk over one app, which needs a product MUG-1 for handoffs. */
export const people = (app: TestApp) => {
  const submit = (key: string, path: string, payload: object) =>
    app.send({
      method: 'POST',
      url: `/api/affiliate/v1/${path}`,
      key,
      payload,
      headers: { 'idempotency-key': freshKey() },
    });
  /** Submits a lead with the contact `email`. */
  const submitLead = (key: string, email: string, external_id = freshKey()) =>
    submit(key, 'leads', {
      external_id,
      company: COMPANY,
      contact: { name: 'Ada Lovelace', email },
      consent: CONSENT,
    });
  const created = (answer: { status: number; text: string; body: never }): Created => {
    if (answer.status >= 300) throw new Error(answer.text);
    return answer.body;
  };
  const lead = async (key: string, email: string): Promise<string> =>
    created(await submitLead(key, email)).id;
  const handoff = async (key: string, buyer: object = {}): Promise<Created> =>
    created(
      await submit(key, 'handoffs', {
        title: 'List',
        buyer,
        line_items: [{ sku: 'MUG-1', quantity: 4 }],
      }),
    );
  /** Creates a handoff whose RFQ the person of `email` sends. */
  const rfq = async (key: string, email: string): Promise<string> => {
    const { id, review_url } = await handoff(key);
    const contact = { name: 'Ada Lovelace', email };
    const sent = { list_revision: 1, consent: true, contact };
    const buyer = buyerOver(app.service.deps, review_url);
    let answer = await buyer.request(sent);
    // A new store across the network is filled beside the first requests.
    await until(
      async () =>
        answer.ok ||
        answer.code !== 'read_model_rebuilding' ||
        (answer = await buyer.request(sent)).ok,
    );
    if (!answer.ok) throw new Error(answer.detail);
    return id;
  };
  const caughtUp = async (): Promise<void> => {
    const { log, following } = app.service.deps;
    await following.passed((await log.head()).position, HANG_MS);
  };
  /** Performs an operation of the role `privacy`, by the last segment of its path. */
  const act = (action: string, mailbox: string, more: object = {}, key = freshKey()) =>
    atDesk(app, { path: `/privacy/${action}`, body: { mailbox, proof: PROOF, ...more } }, key);
  /** The path of the link in the newest message with one to an address. The dispatcher must be started. */
  const mailedPath = async (email: string): Promise<string> => {
    await caughtUp();
    await app.service.dispatcher.idle();
    const directory = join(app.directory, 'mail');
    for (const name of readdirSync(directory).toSorted().reverse()) {
      const mail = await PostalMime.parse(readFileSync(join(directory, name)));
      const path = /\/(?:privacy|mailbox|apply)\/[0-9A-Za-z_.]{40,}/.exec(mail.text ?? '')?.[0];
      if (
        path !== undefined &&
        canonicalAddress(mail.to?.[0]?.address ?? '') === canonicalAddress(email)
      )
        return path;
    }
    throw new Error(`no link was mailed to ${email}`);
  };
  return { submitLead, lead, handoff, rfq, caughtUp, act, mailedPath };
};
