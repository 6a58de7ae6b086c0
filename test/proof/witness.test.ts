/** Witnesses: what they cosign and refuse, what a notary does about them, and what only they can notice. */
import { generateKeyPairSync, hash, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { witnessServer } from '#src/cli/commands/witness.ts';
import { markTree, type ProofDeps } from '#src/proof/notary.ts';
import {
  checkpointText,
  newWitnessKey,
  openNote,
  openSigner,
  openVerifier,
  signerOf,
} from '#src/proof/note.ts';
import { verdictText } from '#src/proof/verifier.ts';
import { addCheckpoint, type PostText, type Witness } from '#src/proof/witnesses.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import {
  claimCode,
  fileOf,
  newestNote,
  nobodyAnswers,
  notaryAt,
  SIGNERS,
  type TestNotary,
  verifyFile,
} from '../support/audit/notary.ts';
import { witnessOf } from '../support/audit/witness.ts';
import { memoryEventLog } from '../support/memory-event-log.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tributary-witness-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

let stores = 0;
const newPath = (): string => {
  stores += 1;
  return join(directory, `${stores}.db`);
};

/** A notary with a new store, or the one at a path, which asks these witnesses. */
const notaryOf = (
  log: EventLog,
  witnesses: readonly Witness[] = [],
  { post = nobodyAnswers, path = newPath() }: { post?: PostText; path?: string } = {},
) => notaryAt(path, log, { witnesses, post });

const ask = async (notary: TestNotary): Promise<string[]> => {
  const faults: string[] = [];
  await notary.witnesses.ask(notary, new AbortController().signal, (error) =>
    faults.push((error as Error).message),
  );
  return faults;
};

it('A witness cosigns checkpoints that continue each other, and exports show up to where', async () => {
  const { post, witness } = witnessOf();
  const notary = notaryOf(memoryEventLog(), [witness], { post });
  for (let round = 0; round < 5; round += 1) {
    for (let act = 0; act < 7; act += 1) await claimCode(notary.log, `${round}x${act}`);
    await markTree(notary);
    expect(await ask(notary)).toEqual([]);
    const opened = openNote(newestNote(notary), [...SIGNERS, witness.key]);
    expect(opened?.signed.map(({ by }) => by.name)).toEqual(['tributary/test', 'witness.example']);
  }
  const { size } = notary.tree;
  await claimCode(notary.log, 'late');
  await markTree(notary);
  const keys = [SIGNERS[0].text, witness.key.text];
  const found = await verifyFile(await fileOf(notary), { keys });
  expect(found).toMatchObject({ status: 0, isKeyChecked: true });
  expect(verdictText(found)).toContain(`Signed up to ${size} events with witness.example+`);
  expect(await verifyFile(await fileOf(notary), { keys: [witness.key.text] })).toMatchObject({
    status: 1,
  });
});

it('A witness that is down, lags, lies or answers nonsense does not stop the notary, and is named', async () => {
  const { witness } = witnessOf();
  const stranger = openSigner(newWitnessKey('witness.example'));
  const liar = witnessOf().deps;
  const answers: [RegExp, PostText][] = [
    [/nobody answers/, nobodyAnswers],
    [
      /no signature of its key that fits/,
      async (_url, body) => addCheckpoint({ ...liar, signer: stranger }, body),
    ],
    [/no signature/, async () => ({ status: 200, body: '<html>\n' })],
    [/status 502: down/, async () => ({ status: 502, body: 'down' })],
    [/status 409/, async () => ({ status: 409, body: 'no number' })],
  ];
  const other = witnessOf('other.example');
  for (const [fault, post] of answers) {
    const route: PostText = (url, body, signal) =>
      url.startsWith(other.witness.url) && url.includes('/other')
        ? other.post(url, body, signal)
        : post(url, body, signal);
    const second = { ...other.witness, url: `${other.witness.url}/other` };
    const notary = notaryOf(memoryEventLog(), [witness, second], { post: route });
    await claimCode(notary.log, 'one');
    await markTree(notary);
    const faults = await ask(notary);
    expect(faults[0]).toMatch(fault);
    await claimCode(notary.log, 'two');
    await markTree(notary);
    expect(notary.tree.unmarked).toBe(0);
    other.deps.memory.save('tributary/test', '');
  }
});

it('A witness that was asked before by another process says what it cosigned, and is asked with that at once', async () => {
  const { post, witness } = witnessOf();
  const log = memoryEventLog();
  const notaries = [1, 2, 3].map(() => notaryOf(log, [witness], { post }));
  for (let round = 0; round < 3; round += 1) {
    await claimCode(log, String(round));
    // The others have not read what the first one marks.
    for (const notary of notaries) {
      await markTree(notaries[0] ?? notary);
      expect(await ask(notary)).toEqual([]);
      expect(openNote(newestNote(notary), [witness.key])?.signed).toHaveLength(1);
      await claimCode(log, `${round}${notaries.indexOf(notary)}`);
    }
  }
});

it('A restart still has the newest cosigned checkpoint, also under a new key, while no witness answers and after its tree was built again', async () => {
  const { post, witness } = witnessOf();
  const log = memoryEventLog();
  const path = newPath();
  const before = notaryOf(log, [witness], { post, path });
  await claimCode(log, 'one');
  await markTree(before);
  expect(await ask(before)).toEqual([]);
  const cosigned = newestNote(before);
  before.store.close();

  const restarted = notaryOf(log, [witness], { path });
  expect(newestNote(restarted)).toBe(cosigned);
  expect(await ask(restarted)).toEqual([]);
  restarted.store.clear();
  restarted.store.close();
  const fresh = signerOf('tributary/test', Buffer.alloc(32, 8));
  const rotated = {
    ...notaryOf(log, [witness], { path }),
    signers: [fresh, ...SIGNERS] as ProofDeps['signers'],
  };
  await rotated.tree.advance();
  const keys = [fresh, ...SIGNERS, witness.key];
  expect(openNote(newestNote(rotated), keys)?.signed).toHaveLength(3);
  await claimCode(log, 'two');
  await markTree(rotated);
  expect((await ask(rotated))[0]).toMatch(/nobody answers/);
  const found = await verifyFile(await fileOf(rotated), { keys: keys.map(({ text }) => text) });
  expect(found).toMatchObject({ status: 0 });
  expect(found.signedBy.find((by) => by.key === witness.key.text)).toMatchObject({ size: 2 });
  rotated.store.close();
});

it('What a damaged store has of a witness, or of another log, is not served', async () => {
  const { post, witness } = witnessOf();
  const path = newPath();
  const notary = notaryOf(memoryEventLog(), [witness], { post, path });
  await claimCode(notary.log, 'one');
  await markTree(notary);
  await ask(notary);
  const other = notaryOf(memoryEventLog(), [witness], { post, path });
  await claimCode(other.log, 'other');
  await markTree(other);
  expect(openNote(newestNote(other), [witness.key])?.signed).toEqual([]);
  const db = new DatabaseSync(path);
  db.exec("UPDATE cosigned SET line = replace(line, 'A', 'B')");
  db.close();
  expect(notary.witnesses.newest()).toBeUndefined();
});

it("A history that the holder of the notary's key rewrote verifies, and only somebody else's checkpoint shows it", async () => {
  const { post, witness, deps } = witnessOf();
  const [log, rewritten] = [memoryEventLog(), memoryEventLog()];
  const honest = notaryOf(log, [witness], { post });
  const forger = notaryOf(rewritten, [witness], { post });
  for (let act = 0; act < 9; act += 1) {
    await claimCode(log, String(act));
    await claimCode(rewritten, String(act), act === 4 ? 'lnk_2' : 'lnk_1');
  }
  await markTree(honest);
  await ask(honest);
  const kept = newestNote(honest);
  await markTree(forger);
  const keys = [SIGNERS[0].text];
  expect(await verifyFile(await fileOf(forger), { keys })).toMatchObject({ status: 0 });
  expect(await verifyFile(await fileOf(forger), { keys, checkpoint: kept })).toMatchObject({
    status: 1,
    reason: expect.stringContaining('is not the one that was kept'),
  });
  await claimCode(rewritten, 'more');
  await markTree(forger);
  expect((await ask(forger))[0]).toMatch(/refused the checkpoint of \d+ events with status 422/);
  expect(deps.memory.load('tributary/test')).toBe(kept);
});

it('A log that lost its end is noticed by what a witness cosigned', async () => {
  const { post, witness } = witnessOf();
  const whole = notaryOf(memoryEventLog(), [witness], { post });
  const cut = notaryOf(memoryEventLog(), [witness], { post });
  for (let act = 0; act < 9; act += 1) await claimCode(whole.log, String(act));
  for (let act = 0; act < 5; act += 1) await claimCode(cut.log, String(act));
  for (const notary of [whole, cut]) await markTree(notary);
  await ask(whole);
  await ask(cut);
  expect((await ask(cut))[0]).toContain('the log lost its end');
});

it('A witness refuses what is no request, an unknown log, a foreign signature and a proof that does not fit', async () => {
  const { deps } = witnessOf();
  const notary = notaryOf(memoryEventLog());
  await claimCode(notary.log, 'one');
  await markTree(notary);
  const note = newestNote(notary);
  const status = (body: string) => addCheckpoint(deps, body).status;
  expect(status('')).toBe(400);
  expect(status(`old 9\n\n${note}`)).toBe(400);
  expect(status(`old 0\n\n${note.replaceAll('tributary/test', 'other')}`)).toBe(404);
  expect(status(`old 0\n\n${note.replace(/[^\n]{9}\n$/, 'AAAAAAAA=\n')}`)).toBe(403);
  expect(status(`old 1\n\n${note}`)).toBe(409);
  expect(status(`old 0\n${'A'.repeat(43)}=\n\n${note}`)).toBe(422);
  expect(status(`old 0\n\n${note}`)).toBe(200);
  expect(status(`old 2\n\n${note}`)).toBe(200);
  expect(status(`old 0\n\n${note}`)).toBe(409);
});

it('Cosignatures of ML-DSA-44 are checked by the notary and by the verifier', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ml-dsa-44' as 'ed25519');
  const raw = publicKey.export({ type: 'spki', format: 'der' }).subarray(-1_312);
  const typed = Buffer.concat([Buffer.of(6), raw]);
  const name = 'pq.example';
  const id = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), typed]), 'buffer').subarray(
    0,
    4,
  );
  const key = openVerifier(`${name}+${id.toString('hex')}+${typed.toString('base64')}`);
  const uint64 = (value: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(BigInt(value));
    return bytes;
  };
  const sized = (text: string) => Buffer.concat([Buffer.of(text.length), Buffer.from(text)]);
  let line = '';
  const post = async () => ({ status: 200, body: line });
  const notary = notaryOf(memoryEventLog(), [{ url: 'https://pq', key }], { post });
  await claimCode(notary.log, 'one');
  await markTree(notary);
  const { size = 0, root = Buffer.alloc(0) } = notary.tree.newest ?? {};
  const message = Buffer.concat([
    Buffer.from('subtree/v1\n\0'),
    sized(name),
    uint64(1_700_000_000),
    sized('tributary/test'),
    uint64(0),
    uint64(size),
    root,
  ]);
  const signature = Buffer.concat([id, uint64(1_700_000_000), sign(null, message, privateKey)]);
  line = `\u2014 ${name} ${signature.toString('base64')}\n`;
  expect(await ask(notary)).toEqual([]);
  expect(newestNote(notary)).toContain(line);
  const file = await fileOf(notary);
  expect(await verifyFile(file, { keys: [SIGNERS[0].text, key.text] })).toMatchObject({
    status: 0,
  });
  expect(
    newestNote(notary).startsWith(checkpointText({ origin: 'tributary/test', size, root })),
  ).toBe(true);
});

it('A witness over HTTP keeps its key and what it cosigned in its file', async () => {
  const path = join(directory, 'witness.json');
  writeFileSync(path, JSON.stringify({ key: newWitnessKey('w.example'), checkpoints: {} }));
  const notary = notaryOf(memoryEventLog());
  await claimCode(notary.log, 'one');
  await markTree(notary);
  const note = newestNote(notary);
  const post = async () => {
    const { server } = witnessServer(path, [SIGNERS[0].text]);
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const answer = await fetch(`${origin}/add-checkpoint`, {
      method: 'POST',
      body: `old 0\n\n${note}`,
    });
    const shown = await fetch(`${origin}/${hash('sha256', 'tributary/test')}/checkpoint`);
    const found = { status: answer.status, body: await answer.text(), shown: await shown.text() };
    await new Promise((done) => server.close(done));
    return found;
  };
  const first = await post();
  expect(first).toMatchObject({ status: 200, shown: note + first.body });
  expect(await post()).toMatchObject({ status: 409, body: '2\n' });
});
