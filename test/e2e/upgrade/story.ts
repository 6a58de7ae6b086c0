/** What the upgrade fixtures contain: some weeks of work of two promoters, in a few requests. */
import { SCOPE_NAMES } from '#contracts/scopes.ts';
import { feedProduct } from '../../support/world/app.ts';
import { askForPrivacy } from './person.ts';
import { readEverything } from './reads.ts';
import { BROWSER, buyersAct, type MailedLinks, makeList, pressMailed } from './buyers.ts';
import { applyInPublic, confirmMailbox } from './owners.ts';
import type { Recorder } from './recorder.ts';

const REASON = { reason: 'Known promoter' };
const ACME = { owner_id: 'acme', ...REASON };
const FILES = ['social_post', 'message', 'agent_notification'].map((kind) => ({
  kind,
  adapter: 'file',
}));
const CONSENT = { basis: 'consent', obtained_at: '2026-11-01T00:00:00Z' };
/** Of one address to one link; the service sums the visits beyond. */
export const VISITS_PER_MINUTE = 20;
const MCP_VERSION = '2026-07-28';

type Json = Record<string, unknown>;
type Desk = Pick<Recorder, 'desk'>;

const idOf = (answer: Json): string => String(answer['id']);

/** Plays the whole story, waits until everything is folded and sent, and records the reads. */
export const playStory = async (
  recorder: Recorder,
  settled: () => Promise<void>,
  mailedLinks: MailedLinks,
) => {
  await fillCatalog(recorder);
  await giveAccess(recorder);
  await setProfile(recorder);
  await confirmMailbox(recorder, mailedLinks);
  await makeLinks(recorder);
  await prepareHandoffs(recorder);
  await submitLeads(recorder);
  await audit(recorder);
  await buyersAct(recorder, mailedLinks);
  await makeList(recorder);
  await answerRfq(recorder, mailedLinks);
  await proposeOutreach(recorder);
  await sendTasks(recorder);
  await eraseSubject(recorder);
  await askForPrivacy(recorder, settled);
  await applyInPublic(recorder, mailedLinks, settled);
  await settled();
  const writes = await recorder.retried();
  await settled();
  const position = await readEverything(recorder);
  return { writes, position };
};

const fillCatalog = async (to: Desk): Promise<void> => {
  const products = [
    feedProduct('MUG-1', { title: 'Blue mug' }),
    feedProduct('MUG-2', { title: 'Red mug' }, { available_quantity: 3, level: 'low' }),
    feedProduct('CAN-1', { title: 'Beeswax candle', category: 'Candles' }),
    feedProduct('OLD-1', { title: 'Withdrawn tray' }),
  ];
  await to.desk('import-1', '/products/import', { products });
  const dearer = feedProduct('CAN-1', { title: 'Beeswax candle', description: 'In a tin' });
  await to.desk('import-2', '/products/import', { products: [dearer] });
  await to.desk('withdraw-1', '/products/withdraw', { sku: 'OLD-1', reason: 'Recalled' });
};

const giveAccess = async (recorder: Recorder): Promise<void> => {
  const { ids, credentials } = recorder;
  const access = (owner_id: string, scopes: readonly string[]) => ({
    owner_id,
    name: `Agent of ${owner_id}`,
    purpose: 'Our letter',
    scopes,
  });
  const grant = async (owner: string, scopes: readonly string[]): Promise<string> => {
    const body = { ...access(owner, scopes), ...REASON };
    return idOf(await recorder.desk(`grant-${owner}`, '/access-grants', body));
  };
  const issue = async (owner: string, agent: string, title = `key-${owner}`): Promise<Json> => {
    const body = { environment: 'live', expires_in_days: 365 };
    return recorder.desk(title, `/agents/${agent}/keys`, body);
  };
  const acme = (ids['agent'] = await grant('acme', SCOPE_NAMES));
  credentials['acme'] = String((await issue('acme', acme))['api_key']);
  const revoked = idOf(await issue('acme', acme, 'key-revoked'));
  await recorder.desk('revoke-1', `/keys/${revoked}/revoke`, { reason: 'Lost' });

  const brook = (ids['suspended agent'] = await grant('brook', ['products:read', 'leads:write']));
  const rotated = await issue('brook', brook);
  credentials['brook'] = String(rotated['api_key']);
  const rotation = { overlap_hours: 24, expires_in_days: 30 };
  await recorder.desk('rotate-1', `/keys/${idOf(rotated)}/rotate`, rotation);
  await recorder.desk('suspend-brook', `/agents/${brook}/suspend`, { reason: 'Unpaid bill' });
  const denied = await recorder.desk('access-cedar', '/agents', access('cedar', ['products:read']));
  await recorder.desk('deny-cedar', `/agents/${idOf(denied)}/deny`, { reason: 'Unknown' });

  const token = {
    name: 'Olga of acme',
    person_id: 'olga@acme.example',
    roles: ['owner'],
    owner_id: 'acme',
  };
  const issued = await recorder.desk('token-1', '/desk-tokens', token);
  credentials['owner'] = String(issued['token']);
  const gone = idOf(
    await recorder.desk('token-2', '/desk-tokens', { name: 'Gus', roles: ['auditor'] }),
  );
  await recorder.desk('revoke-token-2', `/desk-tokens/${gone}/revoke`, { reason: 'Left' });
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

const handoffOf = async (recorder: Recorder, title: string, body: object = {}): Promise<void> => {
  const { ids } = recorder;
  const line_items = [
    { sku: 'MUG-1', quantity: 48, note: 'for the window' },
    { sku: 'CAN-1', quantity: 6 },
  ];
  const made = await recorder.agent(title, '/handoffs', { title: 'Mugs', line_items, ...body });
  ids[title] = idOf(made);
  ids[`${title} page`] = new URL(String(made['review_url'])).pathname;
};

const prepareHandoffs = async (recorder: Recorder): Promise<void> => {
  const { ids } = recorder;
  const note_to_buyer = 'Dear Bea,\nas you asked.';
  await handoffOf(recorder, 'handoff-sent', { note_to_buyer, link_id: ids['link'] });
  await handoffOf(recorder, 'handoff-declined', { locale: 'de-DE', external_id: 'shop-7' });
  await handoffOf(recorder, 'handoff-open');
  await handoffOf(recorder, 'handoff-withdrawn');
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
  for (const to of ['accepted', 'contacted', 'qualified']) await moveLead(recorder, 'won', to);
  await moveLead(recorder, 'lost', 'rejected');
};

const moveLead = (recorder: Recorder, name: string, to: string) =>
  recorder.desk(`lead-${name}-${to}`, `/leads/${recorder.ids[`${name} lead`]}/move`, {
    owner_id: 'acme',
    to,
    ...(to === 'rejected' && { reason: 'Out of business' }),
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
const answerRfq = async (recorder: Recorder, mailedLinks: MailedLinks): Promise<void> => {
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
  const path = (await mailedLinks('quotation')).at(-1) ?? '';
  const { body } = await recorder.act('buyer: quotation', { method: 'GET', path });
  const hash = /name="hash" value="(\w+)"/.exec(body)?.[1] ?? '';
  await pressMailed(recorder, 'buyer: agree', { path, button: 'agree', body: `hash=${hash}` });
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

const callTool = (recorder: Recorder, name: string, args: Json): Promise<Json> => {
  const client = {
    'io.modelcontextprotocol/protocolVersion': MCP_VERSION,
    'io.modelcontextprotocol/clientInfo': { name: 'fixture', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name, arguments: args, _meta: client };
  return recorder.write(`mcp ${String(args['idempotency_key'])}`, {
    method: 'POST',
    path: '/api/affiliate/mcp',
    as: 'acme',
    headers: {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': MCP_VERSION,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
};

const proposePost = async (recorder: Recorder, idempotency_key: string): Promise<Json> => {
  const text = 'Mugs are back in stock. Ask us for a list.';
  const post = { idempotency_key, network: 'mastodon', account_ref: 'shop', text };
  const { result } = await callTool(recorder, 'request_social_post', post);
  return (result as { structuredContent: Json }).structuredContent;
};

const proposeOutreach = async (recorder: Recorder): Promise<void> => {
  const { ids } = recorder;
  const settings = { mode: 'owner_controlled', approvals_required: 1, channels: FILES };
  await recorder.desk('outreach-acme', '/outreach/acme', settings);
  const sent = await proposePost(recorder, 'post-sent');
  ids['sent request'] = idOf(sent);
  const { content_sha256 } = sent;
  await recorder.desk(
    'approve-post',
    `/approvals/${idOf(sent)}/approve`,
    { content_sha256 },
    'owner',
  );
  const refused = await proposePost(recorder, 'post-refused');
  const refusal = { content_sha256: refused['content_sha256'], reason: 'Too loud' };
  await recorder.desk('refuse-post', `/approvals/${idOf(refused)}/refuse`, refusal, 'owner');
  ids['pending request'] = idOf(await proposePost(recorder, 'post-pending'));
};

const callA2a = (
  recorder: Recorder,
  name: string,
  { method, params }: { method: string; params: object },
): Promise<Json> =>
  recorder.write(`a2a ${name}`, {
    method: 'POST',
    path: '/api/affiliate/a2a',
    as: 'acme',
    headers: { 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });

const sendTask = async (recorder: Recorder, messageId: string, data: object): Promise<string> => {
  const message = { messageId, role: 'ROLE_USER', parts: [{ data }] };
  const call = { method: 'SendMessage', params: { message } };
  const { result } = await callA2a(recorder, messageId, call);
  return (result as { task: { id: string } }).task.id;
};

const sendTasks = async (recorder: Recorder): Promise<void> => {
  const { ids } = recorder;
  const list = { title: 'Candles', line_items: [{ sku: 'CAN-1', quantity: 48 }] };
  ids['task'] = await sendTask(recorder, 'task-list', { skill: 'prepare_handoff', ...list });
  ids['notified task'] = await sendTask(recorder, 'task-post', {
    skill: 'coordinate_promotion',
    kind: 'social_post',
    network: 'mastodon',
    account_ref: 'shop',
    text: 'Candles are back in stock.',
  });
  await sendTask(recorder, 'task-why', { skill: 'attribution_question', link_id: ids['link'] });
  await sendTask(recorder, 'task-order', { skill: 'place_order', sku: 'CAN-1' });
  await callA2a(recorder, 'receiver', {
    method: 'CreateTaskPushNotificationConfig',
    params: {
      taskId: ids['notified task'],
      url: 'https://hook.example/tasks',
      token: 'one of the receiver',
      authentication: { scheme: 'Bearer', credentials: 'another' },
    },
  });
};

const eraseSubject = async (recorder: Recorder): Promise<void> => {
  const subject = `/subjects/${recorder.ids['erased lead']}/erase`;
  await recorder.desk('erase-1', subject, { owner_id: 'acme', reason: 'Asked by the person' });
};
