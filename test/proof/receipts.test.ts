/** Receipts of requests, which prove to a stranger what they wrote. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { markTree } from '#src/proof/notary.ts';
import { openNote, openVerifier, readCheckpoint } from '#src/proof/note.ts';
import { leafHash } from '#src/proof/merkle.ts';
import { rootFromLeaf } from '#src/proof/verifier.ts';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.close());

const RECEIPTS = '/audit/receipts';

const createLink = async (owner: string): Promise<string> => {
  const { key } = await app.agent(owner);
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

/** Verifies a file of C2SP tlog-proof, as a stranger with the key does. Returns the leaf. */
const verified = (file: string, key: string): Record<string, unknown> => {
  const [, extra = '', index = '', path = '', note = ''] =
    /^c2sp\.org\/tlog-proof@v1\nextra (\S+)\nindex (\d+)\n((?:\S{44}\n)*)\n([^]+)$/.exec(file) ??
    [];
  const opened = openNote(note, [openVerifier(key)]);
  expect(opened?.signed).toHaveLength(1);
  const { size = 0, root } = readCheckpoint(opened?.text ?? '') ?? {};
  const leaf = Buffer.from(extra, 'base64').toString();
  const proof = path.split('\n').slice(0, -1);
  const found = rootFromLeaf(leafHash(leaf), { index: Number(index), size, proof });
  expect(Buffer.from(found ?? []).equals(root ?? Buffer.alloc(0))).toBe(true);
  return JSON.parse(leaf) as Record<string, unknown>;
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
      expect(verified(proof, key)).toMatchObject({ id: event_id, type, meta: { request: id } });
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
