/** No answer to an agent changes with a step of staff or of the buyer between the request and its outcome. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RFQ_STATES } from '#contracts/moves.ts';
import { RFQ_EVENTS } from '#contracts/registries/events.ts';
import type { HolderOperationId } from '#contracts/registries/holders.ts';
import { RFQ_EVENTS_SHOWN } from '#src/handoffs/rfq.decider.ts';
import { openApp } from '#src/registries/app.ts';
import { quotationTokenOf } from '#src/shared/signing.ts';
import { artifactOf, message, rpc, sent, type WireTask } from '../support/clients/a2a.ts';
import { mcpAgent } from '../support/clients/mcp.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { asAgent } from '../support/world/outreach.ts';
import { buyerOver } from '../support/world/server-over.ts';

let app: TestApp;
let key: string;
let record: { handoff: string; lead: string; link: string; review: string };
let task: string;

const post = async (path: string, payload: object): Promise<{ id: string; review_url: string }> => {
  const headers = { 'idempotency-key': freshKey() };
  const url = `/api/affiliate/v1${path}`;
  const answer = await app.send({ method: 'POST', url, key, headers, payload });
  if (answer.status >= 300) throw new Error(answer.text);
  return answer.body;
};

beforeAll(async () => {
  app = await testApp({ READS_PER_MINUTE: '100000', WRITES_PER_MINUTE: '100000' });
  await app.publish([feedProduct('MUG-1'), feedProduct('MUG-2')]);
  ({ key } = await app.agent('acme'));
  const link = await post('/links', { target: { kind: 'search', ref: 'mugs' } });
  const prepared = await sent(
    app,
    key,
    message({
      skill: 'prepare_handoff',
      title: 'Mugs',
      link_id: link.id,
      line_items: [{ sku: 'MUG-1', quantity: 48 }],
    }),
  );
  task = prepared.id;
  const handoff = artifactOf(prepared, 'handoff') as { id: string; review_url: string };
  const lead = await post('/leads', {
    external_id: 'lead-1',
    company: { name: 'Corner', country: 'GB' },
    source: { kind: 'handoff', ref: handoff.id },
  });
  record = { handoff: handoff.id, lead: lead.id, link: link.id, review: handoff.review_url };
});
afterAll(() => app.close());

/** Members that say when or as of what an answer was made, and the request that asked. */
const MADE = new Set(['as_of', 'requestId', 'consistencyToken']);
/** Numbers that tell of a step on purpose: the table of boundaries has them. */
const TOLD = new Set(['rfqs_taken_up', 'rfq_value', 'rfq_lines']);
const settled = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (name, member: unknown) =>
      MADE.has(name) || TOLD.has(name) ? undefined : member,
    ) ?? 'null',
  );

/** Everything that an agent can read of the handoff, over each interface. */
const answers = async (): Promise<Record<string, unknown>> => {
  const { log, following } = app.service.deps;
  await following.passed((await log.head()).position, 60_000);
  const mcp = mcpAgent(app, key);
  const ask = async (question: object) =>
    artifactOf(
      await sent(app, key, message({ skill: 'attribution_question', ...question })),
      'attribution',
    );
  const day = new Date(app.clock.now()).toISOString().slice(0, 10);
  const period = { from: day, to: day, granularity: 'total' };
  const read = (uri: string) => mcp.modern('resources/read', { uri });
  /** Its counts are numbers of performance, which every step may change. */
  const readHandoff = async (): Promise<object> => {
    const { body } = await read(`tributary://handoffs/${record.handoff}`);
    const { contents } = (body as unknown as { result: { contents: { text: string }[] } }).result;
    return { ...(JSON.parse(contents[0]?.text ?? '{}') as object), counts: undefined };
  };
  const list = async (id: 'listLeads' | 'getPerformance', input: object) =>
    asAgent(app, key, id, input as Record<string, unknown>);
  const rest = (path: string) => app.send({ method: 'GET', url: `/api/affiliate/v1${path}`, key });
  const { result } = await rpc<WireTask>(app, key, 'GetTask', { id: task });
  return {
    byHandoff: await ask({ handoff_id: record.handoff }),
    byLink: await ask({ link_id: record.link }),
    byLead: await ask({ lead_id: record.lead }),
    task: result,
    handoff: await readHandoff(),
    lead: (await read(`tributary://leads/${record.lead}`)).body,
    leads: await list('listLeads', {}),
    restLeads: (await rest('/leads')).body,
    performance: await list('getPerformance', period),
    byHandoffs: await list('getPerformance', { ...period, group_by: ['handoff_id'] }),
  };
};

const desk = async (verb: string, body: object = {}) => {
  const answer = await app.desk('POST', `/handoffs/${record.handoff}/rfq/${verb}`, {
    owner_id: 'acme',
    ...body,
  });
  expect(answer.status, answer.text).toBe(200);
};
const NEXT_YEAR = '2027-11-20T09:00:00.000Z';

/** The buyer acts behind the link of a quotation. */
const buyer = async (id: HolderOperationId, number: number, input: object) => {
  const { deps } = app.service;
  const { body } = await app.desk('GET', `/handoffs/${record.handoff}/rfq?owner_id=acme`);
  const { hash } = (body as { quotation: { hash: string } }).quotation;
  const token = quotationTokenOf(deps.secrets, { handoffId: record.handoff, number });
  const acted = await openApp(deps).holders.performAs(id as 'agreeToQuotation', {
    caller: { kind: 'holder', token },
    surface: 'portal',
    requestId: deps.ids.uuid(),
    input: { ...(id !== 'askAboutQuotation' && { hash }), ...input },
  });
  expect(acted, JSON.stringify(acted)).toMatchObject({ ok: true });
};

/** Each hidden step, in an order in which all can be made. */
const STEPS: [name: string, act: () => Promise<unknown>][] = [
  ['staff take it up', () => desk('move', { to: 'in_progress' })],
  ['staff quote it', () => desk('quote', { valid_until: NEXT_YEAR })],
  ['the buyer asks', () => buyer('askAboutQuotation', 1, { question: 0, text: 'Lids?' })],
  ['staff answer', () => desk('answer', { question: 1, answer: 'Included.' })],
  ['the buyer declines it', () => buyer('declineQuotation', 1, { reason: 'Too dear' })],
  ['staff quote again', () => desk('quote', { valid_until: NEXT_YEAR, replaces: 1 })],
  ['a win is proposed', () => desk('move', { to: 'won', quotation: 2 })],
  ['the win is refused', () => desk('refuse', { proposal: 1, reason: 'Wait' })],
  ['the buyer agrees', () => buyer('agreeToQuotation', 2, {})],
];

describe('What an agent sees of an RFQ', () => {
  it('What an agent sees of an RFQ is that it is open and its outcome, over every interface', async () => {
    const sendRfq = buyerOver(app.service.deps, record.review);
    const contact = { name: 'Bea Buyer', email: 'bea@shop.example' };
    expect(await sendRfq.request({ list_revision: 1, consent: true, contact })).toMatchObject({
      ok: true,
    });
    const open = settled(await answers());
    expect(JSON.stringify(open)).toContain('"open"');
    for (const [name, act] of STEPS) {
      app.clock.advance(60_000);
      await act();
      expect(settled(await answers()), name).toEqual(open);
    }
    const stored = await app.service.deps.log.readStream(`acme-handoff_${record.handoff.slice(4)}`);
    const made = new Set(stored.map(({ type }) => type));
    const unmade = RFQ_EVENTS.filter((type) => !RFQ_EVENTS_SHOWN[type] && !made.has(type));
    // They end an RFQ that was not confirmed.
    expect(unmade).toEqual(['RfqConfirmationExpired', 'RfqDropped']);

    await desk('move', { to: 'won', quotation: 2 });
    const won = await answers();
    const text = JSON.stringify(won);
    expect(won['handoff']).not.toEqual(open);
    expect(text.match(/"state":"won"/g)?.length).toBeGreaterThan(2);
    for (const word of [...RFQ_EVENTS.filter((type) => !RFQ_EVENTS_SHOWN[type]), ...HIDDEN])
      expect(text, word).not.toContain(`"${word}"`);
  });

  it('A question about the position of a hidden step is answered as for a position without an event of the owner', async () => {
    const stored = await app.service.deps.log.readStream(`acme-handoff_${record.handoff.slice(4)}`);
    const hidden = stored.filter(
      ({ type }) => (RFQ_EVENTS_SHOWN as Record<string, boolean>)[type] === false,
    );
    expect(hidden.length).toBeGreaterThan(5);
    const refusalOf = async (position: number) => {
      const { error } = await rpc(app, key, 'SendMessage', {
        message: message({ skill: 'attribution_question', position }),
      });
      return `${error?.code} ${error?.message}`;
    };
    const absent = await refusalOf(9_999_999);
    for (const { position } of hidden) expect(await refusalOf(position)).toBe(absent);
  });
});

/** States of an RFQ that no agent sees. A lead has states of its own. */
const HIDDEN = RFQ_STATES.filter(
  (state) => !['expired', 'won', 'lost', 'withdrawn'].includes(state),
);
