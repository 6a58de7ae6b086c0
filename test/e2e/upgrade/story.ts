/** What the upgrade fixtures contain: some weeks of work of promoters, staff and buyers, in a few requests. */
import { SCOPE_NAMES } from '#contracts/scopes.ts';
import { feedProduct } from '../../support/world/app.ts';
import { callTool } from './agents.ts';
import { BROWSER, buyersAct, makeList, press } from './buyers.ts';
import { closeDeal, endLists, makeHandoff, moveGoods } from './deals.ts';
import { deliverLists } from './deliveries.ts';
import { proposeOutreach, sendByWebhook } from './outreach.ts';
import { applyInPublic, confirmMailbox, grantAccess, issueKey } from './owners.ts';
import { signIn, useOtherWays } from './people.ts';
import { askForPrivacy } from './person.ts';
import { readEverything } from './reads.ts';
import { idOf, type Json, type Recorder } from './recorder.ts';
import { repair } from './repairs.ts';
import { notifyReceivers, sendTasks } from './tasks.ts';
import type { World } from './world.ts';

const ACME = { owner_id: 'acme', reason: 'Known promoter' };
const CONSENT = { basis: 'consent', obtained_at: '2026-11-01T00:00:00Z' };
/** Of one address to one link; the service sums the visits beyond. */
export const VISITS_PER_MINUTE = 20;

/** Plays the whole story after its past (past.ts). */
export const playStory = async (recorder: Recorder, world: World): Promise<void> => {
  await observeStock(recorder);
  await giveAccess(recorder);
  await setProfile(recorder);
  await confirmMailbox(recorder, world);
  await makeLinks(recorder);
  await prepareHandoffs(recorder);
  await submitLeads(recorder);
  await audit(recorder);
  await buyersAct(recorder, world);
  await makeList(recorder);
  await answerRfq(recorder, world);
  await closeDeal(recorder, world);
  await moveGoods(recorder);
  await endLists(recorder);
  await proposeOutreach(recorder);
  await deliverLists(recorder, world);
  await sendByWebhook(recorder, world);
  await sendTasks(recorder);
  await notifyReceivers(recorder, world);
  await eraseSubject(recorder);
  await askForPrivacy(recorder, world);
  await applyInPublic(recorder, world);
  await signIn(recorder, world);
  await useOtherWays(recorder, world);
  await repair(recorder);
};

/** Repeats the writes and records the reads, each when everything before is sent, summed and folded. */
export const readStory = async (recorder: Recorder, world: World) => {
  const { ids, credentials } = recorder;
  await world.reached(ids['sent request'] ?? '', 'confirmed');
  await world.summed(credentials['acme'] ?? '');
  await world.happened('RfqConfirmationExpired', 'OutboundExpired');
  await world.folded();
  const writes = await recorder.retried();
  await world.folded();
  return { writes, position: await readEverything(recorder) };
};

/** A feed with another stock and the same product. */
const observeStock = async (recorder: Recorder): Promise<void> => {
  const stock = { available_quantity: 12, level: 'low' };
  const products = [feedProduct('MUG-2', { title: 'Red mug' }, stock)];
  await recorder.desk('import-3', '/products/import', { products });
};

const giveAccess = async (recorder: Recorder): Promise<void> => {
  const { ids } = recorder;
  const acme = await grantAccess(recorder, 'acme', SCOPE_NAMES);
  ids['agent'] = acme.agent;
  const revoked = idOf(await issueKey(recorder, acme.agent, 'key-revoked'));
  await recorder.desk('revoke-1', `/keys/${revoked}/revoke`, { reason: 'Lost' });

  const { agent, key } = await grantAccess(recorder, 'brook', ['products:read', 'leads:write']);
  ids['suspended agent'] = agent;
  const rotation = { overlap_hours: 24, expires_in_days: 30 };
  await recorder.desk('rotate-1', `/keys/${key}/rotate`, rotation);
  await recorder.desk('suspend-brook', `/agents/${agent}/suspend`, { reason: 'Unpaid bill' });
  const asked = { owner_id: 'cedar', name: 'Agent of cedar', purpose: 'Our letter' };
  const scopes = ['products:read'];
  const denied = await recorder.desk('access-cedar', '/agents', { ...asked, scopes });
  await recorder.desk('deny-cedar', `/agents/${idOf(denied)}/deny`, { reason: 'Unknown' });
  await issueTokens(recorder);
};

/** Tokens of an owner and of two people of staff, and one that is revoked. */
const issueTokens = async (recorder: Recorder): Promise<void> => {
  const issue = (title: string, body: object): Promise<Json> =>
    recorder.desk(title, '/desk-tokens', body);
  const tokens = {
    owner: { name: 'Olga of acme', roles: ['owner'], owner_id: 'acme' },
    first: { name: 'Sam Staff', roles: ['staff'] },
    second: { name: 'Una Staff', roles: ['staff'] },
  };
  for (const [as, token] of Object.entries(tokens)) {
    const person_id = `${as}@acme.example`;
    const issued = await issue(`token-${as}`, { ...token, person_id });
    recorder.credentials[as] = String(issued['token']);
  }
  const gone = idOf(await issue('token-gone', { name: 'Gus', roles: ['auditor'] }));
  await recorder.desk('revoke-token', `/desk-tokens/${gone}/revoke`, { reason: 'Left' });
};

/** Sets a profile, whose mailbox gets the decision on a request for access, and the settings of all links. */
const setProfile = async (recorder: Recorder): Promise<void> => {
  const mailbox = 'office@acme.example';
  const profile = { name: 'Acme Ltd', postal_address: '1 High Street\nLondon', mailbox };
  const settings = { attribution_days: 60, fallback: { kind: 'category', ref: 'Gifts' } };
  await recorder.desk('profile', '/owners/acme/profile', { ...profile, ...settings });
  const confirmed = { mailbox, reason: 'Olga wrote from it' };
  await recorder.desk('mailbox', '/owners/acme/mailbox/confirm', confirmed);
  const asked = { owner_id: 'acme', name: 'Scout', purpose: 'Posts', scopes: ['products:read'] };
  const agent = idOf(await recorder.desk('request-mailed', '/agents', asked));
  await recorder.desk('deny-mailed', `/agents/${agent}/deny`, { reason: 'Not needed' });
};

const makeLinks = async (recorder: Recorder): Promise<void> => {
  const { ids } = recorder;
  const product = { target: { kind: 'product', ref: 'MUG-1' }, campaign: 'autumn' };
  const link = await recorder.agent('link-1', '/links', product);
  ids['link'] = idOf(link);
  const short = new URL(String(link['short_url'])).pathname;
  ids['short path'] = short;
  const search = { target: { kind: 'search', ref: 'candle' }, slug: 'winter-candles' };
  ids['slug link'] = idOf(await recorder.agent('link-2', '/links', search));
  await callTool(recorder, 'update_link', {
    idempotency_key: 'link-2-updated',
    link_id: ids['slug link'],
    expires_at: '2035-01-01T00:00:00Z',
  });
  const disabled = { target: { kind: 'search', ref: 'trays' }, sub_ids: ['letter-7'] };
  const id = (ids['disabled link'] = idOf(await recorder.agent('link-3', '/links', disabled)));
  await recorder.desk('disable-link-3', `/links/${id}/disable`, ACME);

  for (const agent of [BROWSER, BROWSER, 'Googlebot/2.1 (+http://www.google.com/bot.html)'])
    await recorder.act('visit', { method: 'GET', path: short, headers: { 'user-agent': agent } });
  for (let visits = 0; visits <= VISITS_PER_MINUTE; visits += 1)
    await recorder.act('repeated visit', {
      method: 'GET',
      path: short,
      headers: { 'user-agent': BROWSER },
    });
};

const prepareHandoffs = async (recorder: Recorder): Promise<void> => {
  const { ids } = recorder;
  const note_to_buyer = 'Dear Bea,\nas you asked.';
  await makeHandoff(recorder, 'handoff-sent', { note_to_buyer, link_id: ids['link'] });
  await makeHandoff(recorder, 'handoff-declined', { locale: 'de-DE', external_id: 'shop-7' });
  await makeHandoff(recorder, 'handoff-open');
  await makeHandoff(recorder, 'handoff-withdrawn');
  const withdrawn = `/handoffs/${ids['handoff-withdrawn']}/withdraw`;
  await recorder.desk('withdraw-handoff', withdrawn, { ...ACME, reason: 'Sent twice' });
};

const lead = (external_id: string, over: object = {}): Json => ({
  external_id,
  company: { name: `Shop ${external_id}`, country: 'GB' },
  ...over,
});

const submitLeads = async (recorder: Recorder): Promise<void> => {
  const { ids } = recorder;
  const contact = { name: 'Ada Byron', email: 'ada@cornershop.example', phone: '+442079460991' };
  const source = { kind: 'handoff', ref: ids['handoff-sent'] };
  const won = lead('crm-won', { contact, consent: CONSENT, source });
  ids['won lead'] = idOf(await recorder.agent('lead-won', '/leads', won));
  const metadata = { tier: 'b' };
  const amended = lead('crm-won', {
    contact: { ...contact, phone: '+442079460992' },
    consent: CONSENT,
    metadata,
  });
  await recorder.agent('lead-won-amended', '/leads', amended);
  const taken = lead('crm-duplicate', { contact, consent: CONSENT });
  await recorder.agent('lead-duplicate', '/leads', taken);
  const link = { source: { kind: 'link', ref: ids['link'] } };
  ids['lost lead'] = idOf(await recorder.agent('lead-lost', '/leads', lead('crm-lost', link)));
  await recorder.agent('lead-new', '/leads', lead('crm-new', link));
  const reopened = lead('crm-reopened', link);
  ids['reopened lead'] = idOf(await recorder.agent('lead-reopened', '/leads', reopened));
  await recorder.agent('lead-taken-back', '/leads', lead('crm-taken-back'));
  const withdrawal = { external_id: 'crm-taken-back', withdraw: true, withdraw_reason: 'Error' };
  await recorder.agent('lead-withdrawn', '/leads', withdrawal);
  const erased = { name: 'Eve Erased', email: 'eve@erased.example' };
  const person = lead('crm-erased', { contact: erased, consent: CONSENT });
  ids['erased lead'] = idOf(await recorder.agent('lead-erased', '/leads', person));
  ids['unfit lead'] = idOf(await recorder.agent('lead-unfit', '/leads', lead('crm-unfit')));
  for (const to of ['accepted', 'contacted', 'qualified']) await moveLead(recorder, 'won', to);
  for (const to of ['accepted', 'contacted', 'unqualified']) await moveLead(recorder, 'unfit', to);
  await moveLead(recorder, 'lost', 'rejected');
};

const moveLead = (recorder: Recorder, name: string, to: string) =>
  recorder.desk(`lead-${name}-${to}`, `/leads/${recorder.ids[`${name} lead`]}/move`, {
    owner_id: 'acme',
    to,
    ...(['rejected', 'unqualified'].includes(to) && { reason: 'Out of business' }),
  });

/** Asks audits, whose audit records have what they asked. */
const audit = async (recorder: Recorder): Promise<void> => {
  for (const query of ['state?owner_id=acme&kind=link', 'performance?owner_id=acme'])
    await recorder.act('audit', {
      method: 'GET',
      path: `/api/desk/v1/audit/${query}`,
      as: 'staff',
    });
};

/**
 * Proposes a quotation above the limit, which is refused; quotes, wins what the buyer agrees to and corrects the RFQ, and its
 * lead follows.
 */
const answerRfq = async (recorder: Recorder, { mailedLink }: World): Promise<void> => {
  const act = (name: string, verb: string, body: object) =>
    recorder.desk(`rfq-${name}`, `/handoffs/${recorder.ids['handoff-sent']}/rfq/${verb}`, body);
  const quote = (more: object) => ({ valid_until: '2099-01-01T00:00:00Z', ...more });
  const large = {
    lines: [{ line_id: '1', unit_price: { amount: 1_000_001, currency: 'GBP' } }],
    accept_difference: true,
    reason: 'Hand-painted',
  };
  await act('taken', 'move', { to: 'in_progress', reason: 'Ask for the price of the mugs' });
  await act('proposed', 'quote', quote(large));
  await act('refused', 'refuse', { proposal: 1, reason: 'Wrong decimals' });
  const terms = 'Payment within 30 days.';
  const charges = [{ label: 'Shipping', amount: 900, currency: 'GBP' }];
  await act('quoted', 'quote', quote({ terms, charges }));
  const path = await mailedLink('quotation', 'bea@shop.example');
  const { body } = await recorder.act('buyer: quotation', { method: 'GET', path });
  const hash = /name="hash" value="(\w+)"/.exec(body)?.[1] ?? '';
  await press(recorder, 'buyer: agree', { path, button: 'agree', fields: { hash } });
  await act('won', 'move', { to: 'won' });
  const values = [{ amount: 12_000, currency: 'GBP' }];
  await act('corrected', 'correct', { to: 'won', values, reason: 'Two mugs broke' });
  const lost = { owner_id: 'acme', to: 'qualified', reason: 'Asked again' };
  for (const to of ['accepted', 'contacted', 'qualified', 'lost'])
    await moveLead(recorder, 'reopened', to);
  await recorder.desk('lead-reopened', `/leads/${recorder.ids['reopened lead']}/correct`, lost);
  await proposeWin(recorder);
  await planLead(recorder);
};

/** Plans for a lead: a note, and a next step that is done and planned again. */
const planLead = async (recorder: Recorder): Promise<void> => {
  const act = (name: string, verb: string, body: object = {}) =>
    recorder.desk(`plan-${name}`, `/plans/${recorder.ids['reopened lead']}/${verb}`, body);
  await act('assigned', 'assign', { person: 'the machine' });
  await act('noted', 'notes', { note: 'Ada prefers calls in the morning' });
  const step = { due_at: '2099-01-01T09:00:00Z', step: 'Call Ada' };
  await act('step', 'next-step', step);
  await act('done', 'next-step/done');
  await act('next', 'next-step', { ...step, due_at: '2099-01-02T09:00:00Z' });
};

/** Proposes to win the reopened lead above the limit twice; the first proposal is refused. */
const proposeWin = async (recorder: Recorder): Promise<void> => {
  const act = (name: string, verb: string, body: object) =>
    recorder.desk(`lead-win-${name}`, `/leads/${recorder.ids['reopened lead']}/${verb}`, {
      owner_id: 'acme',
      ...body,
    });
  const value = { amount: 1_000_001, currency: 'GBP' };
  await act('proposed', 'move', { to: 'won', value, reason: 'Ordered for all shops' });
  await act('refused', 'refuse', { proposal: 1, reason: 'Wrong decimals' });
  await act('waiting', 'move', { to: 'won', value: { ...value, amount: 1_000_100 } });
};

const eraseSubject = async (recorder: Recorder): Promise<void> => {
  const subject = `/subjects/${recorder.ids['erased lead']}/erase`;
  await recorder.desk('erase-1', subject, { owner_id: 'acme', reason: 'Asked by the person' });
};
