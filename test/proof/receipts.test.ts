/** Receipts of requests, which prove to a stranger what they wrote. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { markTree } from '#src/proof/notary.ts';
import { verifiedLeaf } from '../support/audit/receipt.ts';
import { mcpAgent } from '../support/clients/mcp.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  await app.publish([feedProduct('MUG-1')]);
});
afterAll(() => app.close());

const RECEIPTS = '/audit/receipts';

const createLink = async (owner: string, key?: string): Promise<string> => {
  key ??= (await app.agent(owner)).key;
  const headers = { 'idempotency-key': freshKey() };
  const payload = { target: { kind: 'search', ref: 'mug' }, campaign: 'spring' };
  const url = '/api/affiliate/v1/links';
  const answer = await app.send({ method: 'POST', url, key, payload, headers });
  if (answer.status !== 201) throw new Error(answer.text);
  return String(answer.headers['request-id']);
};

type Receipts = {
  receipts: { event_id: string; type: string; proof?: string }[];
  retry_after_ms: number | null;
};

const receiptsOf = async (id: string): Promise<Receipts> => {
  const { status, body, text } = await app.desk('GET', `${RECEIPTS}/${id}`);
  if (status !== 200) throw new Error(text);
  return body;
};

it('A receipt is pending until a checkpoint covers the event, and then proves it to a stranger', async () => {
  const { deps } = app.service;
  const id = await createLink('acme');
  const pending = await receiptsOf(id);
  expect(pending.retry_after_ms).toBe(1_500);
  expect(pending.receipts.length).toBeGreaterThan(0);
  for (const { proof } of pending.receipts) expect(proof).toBeUndefined();
  await markTree({ ...deps.proof(), ...deps });
  const [key = ''] = deps.proof().signers.map(({ text }) => text);
  for (let round = 0; round < 3; round += 1) {
    const { receipts, retry_after_ms } = await receiptsOf(id);
    expect(retry_after_ms).toBeNull();
    for (const { event_id, type, proof = '' } of receipts)
      expect(verifiedLeaf(proof, key)).toMatchObject({ id: event_id, type, meta: { request: id } });
    await createLink(`later${round}`);
    await markTree({ ...deps.proof(), ...deps });
  }
});

it('A trace of a request has its receipts, and other ids have none', async () => {
  const { deps } = app.service;
  const id = await createLink('globex');
  await markTree({ ...deps.proof(), ...deps });
  const trace = (await app.desk('GET', `/audit/trace/${id}`)).body as Receipts;
  expect(trace.receipts).toEqual((await receiptsOf(id)).receipts);
  for (const other of [id.replace(/.$/, (last) => (last === '0' ? '1' : '0')), 'lnk_none'])
    expect(await app.desk('GET', `${RECEIPTS}/${other}`)).toMatchObject({ status: 404 });
});

type ToolAnswer = {
  data: { event_id: string; type: string; proof?: string; too_large?: true }[];
  retry_after_ms: number | null;
  page: { next_cursor: string | null };
};

/** Asks over MCP; the code of the problem if it is refused. */
const askAs = async (key: string, input: object): Promise<ToolAnswer | string> => {
  const { body } = await mcpAgent(app, key).legacy('tools/call', {
    name: 'get_receipt',
    arguments: input,
  });
  const { isError, content, structuredContent } = body.result ?? {};
  const [text] = content ?? [];
  return isError
    ? (JSON.parse(text?.text ?? '') as { code: string }).code
    : (structuredContent as ToolAnswer);
};

/** Asks for all pages. */
const allAs = async (key: string, request_id: string): Promise<ToolAnswer['data']> => {
  const rows: ToolAnswer['data'] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const answer = await askAs(key, { request_id, ...(cursor && { cursor }) });
    if (typeof answer === 'string') throw new Error(answer);
    rows.push(...answer.data);
    cursor = answer.page.next_cursor;
  }
  return rows;
};

it('An agent gets the receipts of its own request over MCP, which are those of the desk', async () => {
  const { deps } = app.service;
  const { key } = await app.agent('acme');
  const id = await createLink('acme', key);
  const pending = await askAs(key, { request_id: id });
  expect(pending).toMatchObject({ retry_after_ms: 1_500 });
  await markTree({ ...deps.proof(), ...deps });
  const answer = await askAs(key, { request_id: id });
  expect(answer).toEqual({
    data: (await receiptsOf(id)).receipts,
    retry_after_ms: null,
    page: { next_cursor: null, has_more: false },
  });
});

it("An agent gets the same answer for another agent's request as for one that does not exist", async () => {
  const { key } = await app.agent('acme');
  const [own, stranger] = [await app.agent('acme'), await app.agent('rival')];
  const id = await createLink('acme', key);
  const unknown = '0197f2a1-6c3e-7000-8000-000000000001';
  for (const other of [own, stranger])
    for (const request_id of [id, unknown, 'no id'])
      expect(await askAs(other.key, { request_id })).toBe('resource_not_found');
  // It is found by the agent that made it, so that only the caller differs.
  expect(await askAs(key, { request_id: id })).toBeTypeOf('object');
});

it('Pages of receipts hold every event of a large request once, and no part of a proof', async () => {
  const { deps } = app.service;
  const { key } = await app.agent('acme');
  const target = { kind: 'search', ref: 'mug' };
  const { body } = await mcpAgent(app, key).legacy('tools/call', {
    name: 'create_links',
    arguments: {
      idempotency_key: freshKey(),
      links: Array.from({ length: 20 }, () => ({ target })),
    },
  });
  const id = String(body.result?._meta['requestId']);
  await markTree({ ...deps.proof(), ...deps });
  const rows = await allAs(key, id);
  const [signer = ''] = deps.proof().signers.map(({ text }) => text);
  const { receipts } = await receiptsOf(id);
  expect(receipts.length).toBeGreaterThanOrEqual(20);
  expect(rows.map(({ event_id }) => event_id)).toEqual(receipts.map(({ event_id }) => event_id));
  for (const { event_id, proof = '' } of rows)
    expect(verifiedLeaf(proof, signer)).toMatchObject({ id: event_id });
});

it('A proof that is too large for a tool is named as such, and the desk has it', async () => {
  const { deps } = app.service;
  const { key } = await app.agent('acme');
  const line_items = Array.from({ length: 200 }, () => ({ sku: 'MUG-1', quantity: 4 }));
  const headers = { 'idempotency-key': freshKey() };
  const payload = { title: 'List', line_items };
  const url = '/api/affiliate/v1/handoffs';
  const made = await app.send({ method: 'POST', url, key, payload, headers });
  expect(made).toMatchObject({ status: 201 });
  const id = String(made.headers['request-id']);
  await markTree({ ...deps.proof(), ...deps });
  const [large] = (await allAs(key, id)).filter(({ type }) => type === 'HandoffCreated');
  expect(large).toMatchObject({ too_large: true });
  const { receipts } = await receiptsOf(id);
  expect(receipts.find(({ event_id }) => event_id === large?.event_id)?.proof).toBeTypeOf('string');
});
