/** No agent can ask who refuses contact: every answer, and the work for it, is that of a contact that another promoter has. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { agentOperations, type OperationId } from '#contracts/registries/agents.ts';
import { testSpaceOf } from '#contracts/spaces.ts';
import { markTree } from '#src/proof/notary.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { asAgent, configure, person } from '../support/world/outreach.ts';
import { endLogServers, logServer } from '../support/eventstoredb/log-server.ts';
import { withNewSecrets } from '../support/world/new-secrets.ts';
import { people } from '../support/world/people.ts';

const MINUTE_MS = 60_000;

let app: TestApp;
let acme: string;
let world: ReturnType<typeof people>;
beforeAll(async () => {
  const shared = {
    EVENT_LOG_URL: (await logServer()).url,
    ROOT_KEY: Buffer.alloc(32, 9).toString('base64'),
  };
  await (await testApp(shared)).close();
  app = await testApp(await withNewSecrets(shared));
  world = people(app);
  await app.publish([feedProduct('MUG-1')]);
  acme = (await app.agent('acme')).key;
});
afterAll(async () => {
  await app.close();
  await endLogServers();
});

type Fields = Record<string, unknown> & { id?: string };
type Step = { operation: OperationId | 'readRecord'; answer: unknown; work: string[] };

/** Names the kind of a stream without its owner and its id. */
const kindOf = (stream: string): string => stream.replace(/^[^-]*-([a-z]+).*$/, '$1');

/** What one act reads: the streams of the log by their kind, the rows, and the sealed texts. */
const observeWork = () => {
  const { log, readModels, vault } = app.service.deps;
  const work: string[] = [];
  const spies = [
    vi.spyOn(log, 'readStream').mockName('stream'),
    vi.spyOn(log, 'appendAll').mockName('append'),
    vi.spyOn(readModels, 'get').mockName('row'),
    vi.spyOn(readModels, 'list').mockName('list'),
    vi.spyOn(vault, 'unseal').mockName('unseal'),
    vi.spyOn(vault, 'knows').mockName('knows'),
  ];
  return {
    end(): string[] {
      for (const spy of spies) {
        for (const [name] of spy.mock.calls as unknown[][]) {
          const about = typeof name === 'string' && !name.startsWith('led_') ? kindOf(name) : '';
          work.push(`${spy.getMockName()} ${about}`);
        }
        spy.mockRestore();
      }
      return work;
    },
  };
};

/** Writes a JSON text without ids, times, the owner, the address and what the service itself wrote last. */
const anonymous = (answer: unknown, owner: string): string =>
  JSON.stringify(answer)
    .replaceAll('\\', '')
    .replaceAll(/(led|agt|hnd|out|own)_[0-9a-z]+|[0-9a-f]{64}|[0-9a-f]{8}-[0-9a-f-]{27}/gi, '…')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z|test-\d+|\/h\/[0-9A-Za-z_-]+/g, '…')
    .replaceAll(/"(?:position|projection_lag_events)":\d+/g, '…')
    .replaceAll(/"(?:id|prefix|last4|consistencyToken|as_of)":"[^"]*"/g, '…')
    .replaceAll(/[\w.+-]+@[\w.]+/g, 'EMAIL')
    .replaceAll(owner, 'OWNER');

/** The events that receipts prove, with the names of their members: ids and sealed texts are never the same. */
const proved = ({ data }: { data: { type: string; proof?: string }[] }): unknown[] =>
  data.map(({ type, proof = '' }) => {
    const [, leaf = ''] = /^extra (\S+)$/m.exec(proof) ?? [];
    const event = JSON.parse(Buffer.from(leaf, 'base64').toString()) as { data: object };
    return [type, JSON.stringify(event.data).match(/"\w+":/g)];
  });

/** Operations that neither take a contact nor show a record that has one. */
const WITHOUT_CONTACT: readonly OperationId[] = [
  'createLink',
  'createLinks',
  'getRecord',
  'listChanges',
  'listRecords',
  'reviseHandoff',
  'updateLink',
  'withdrawUnseenHandoff',
  'requestAgentNotification',
  'requestSocialPost',
  'searchProducts',
];

const COMPANY = { name: 'Shop', country: 'GB' };
const CONSENT = { basis: 'consent', obtained_at: '2026-11-19T10:00:00Z' };

/** Does all that an agent can do with an address, for a new owner, and returns each answer. */
const askAbout = async (email: string, owner: string, environment: 'live' | 'test') => {
  const { key } = await app.agent(owner, undefined, environment);
  await configure(app, owner);
  const approver = await person(app, ['owner'], owner);
  const steps: Step[] = [];
  const call = async (operation: Step['operation'], input: Fields): Promise<Fields> => {
    await world.caughtUp();
    const observed = observeWork();
    const outcome =
      operation === 'readRecord'
        ? await app.send({
            method: 'POST',
            url: '/api/affiliate/mcp',
            key,
            headers: { accept: 'application/json, text/event-stream' },
            payload: { jsonrpc: '2.0', id: 1, method: 'resources/read', params: input },
          })
        : await asAgent(app, key, operation, input);
    const all = observed.end();
    // A request is found by halving the log, so the number of reads follows from the number of events.
    const work = operation === 'getReceipt' ? [...new Set(all)] : all;
    const answer = 'body' in outcome ? outcome.body : outcome;
    const isProved = operation === 'getReceipt' && 'ok' in outcome && outcome.ok;
    const shown = isProved ? proved(outcome.value) : answer;
    steps.push({ operation, answer: anonymous(shown, owner), work });
    return 'ok' in outcome && outcome.ok ? outcome.value : {};
  };
  /** Calls the operation, and asks for the receipts of the last request that wrote something. */
  const write = async (operation: OperationId, input: Fields): Promise<Fields> => {
    const value = await call(operation, { idempotency_key: freshKey(), ...input });
    const { deps } = app.service;
    await markTree({ ...deps.proof(), ...deps });
    const { position: upTo } = await deps.log.head();
    const newest = await deps.log.readBack({
      upTo,
      limit: 100,
      owner: environment === 'test' ? testSpaceOf(owner) : owner,
    });
    const written = newest.findLast(({ meta }) => meta.key !== undefined);
    await call('getReceipt', { request_id: written?.meta.request });
    return value;
  };
  const contact = { name: 'Ada', email };
  const submit = (external_id: string, of: object = contact) =>
    write('submitLead', { external_id, company: COMPANY, consent: CONSENT, contact: of });

  const external = freshKey();
  const lead = await submit(external);
  await submit(freshKey());
  const other = freshKey();
  await submit(other, { name: 'Ada', email: `${owner}@shop.example` });
  await submit(other);
  const handoff = await write('createHandoff', {
    title: 'List',
    buyer: { email },
    line_items: [{ sku: 'MUG-1', quantity: 4 }],
  });
  const message = { channel: 'email', text: 'Mugs are back in stock.' };
  const requests: Fields[] = [];
  for (const recipient_ref of [lead.id, external, `lead:${lead.id?.toUpperCase() ?? ''}`])
    requests.push(await write('requestMessage', { ...message, recipient_ref }));
  const [first] = requests;
  await write('requestMessage', { ...message, recipient_ref: external, revises: first?.id });
  await call('getOutboundRequest', { outbound_id: first?.id });
  await write('cancelOutboundRequest', { outbound_id: first?.id });
  await call('listLeads', {});
  await call('getPerformance', { group_by: 'campaign' });
  await call('getConnection', {});
  for (const [kind, { id }] of [
    ['leads', lead],
    ['handoffs', handoff],
  ] as const)
    await call('readRecord', { uri: `tributary://${kind}/${id ?? ''}` });
  return { steps, approver, lead, request: requests[1] };
};

/** Which answers differ, and what each has read. */
const differences = (one: readonly Step[], other: readonly Step[]): Step[][] =>
  one.flatMap((step, index) => {
    const same = other[index];
    return same && JSON.stringify(same) === JSON.stringify(step) ? [] : [[step, same ?? step]];
  });

it.each([
  ['live', 'rejected', true],
  ['test', 'submitted', false],
] as const)(
  'An agent with a %s key gets the same answers for the same work, whether or not the person of an address refused contact before',
  async (environment, state, isKnown) => {
    const [known, refused] = [
      `known.${environment}@shop.example`,
      `refused.${environment}@x.example`,
    ];
    for (const email of [known, refused]) await world.lead(acme, email);
    await world.act('withdraw', refused);
    await world.caughtUp();
    app.clock.advance(MINUTE_MS);
    const one = await askAbout(known, `ask${environment}one`, environment);
    const other = await askAbout(refused, `ask${environment}two`, environment);
    expect(one.lead).toMatchObject({ state });
    expect(differences(one.steps, other.steps)).toEqual([]);
    const used = new Set(one.steps.map(({ operation }) => operation));
    for (const id of Object.keys(agentOperations) as OperationId[])
      expect(used.has(id) || WITHOUT_CONTACT.includes(id), id).toBe(true);
    expect(one.request).toMatchObject({ status: 'pending_approval' });

    if (!isKnown) return;
    // The people who decide see the difference, and it binds them and each attempt.
    const decide = async ({ approver, request }: typeof one) => {
      const { id, content_sha256 } = request as Record<string, string>;
      const { body: shown } = await app.desk('GET', `/approvals/${id}`);
      const { status } = await app.send({
        method: 'POST',
        url: `/api/desk/v1/approvals/${id}/approve`,
        key: approver,
        payload: { content_sha256 },
        headers: { 'idempotency-key': freshKey() },
      });
      return [(shown as { recipient_fault?: string }).recipient_fault, status];
    };
    expect(await decide(one)).toEqual([undefined, 200]);
    expect(await decide(other)).toEqual([expect.stringContaining('refuses contact'), 409]);
  },
);
