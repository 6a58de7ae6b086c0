/** Witnesses: what they cosign and refuse, what a notary does about them, and what only they can notice. */
import { generateKeyPairSync, hash, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import canonicalize from 'canonicalize';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { witnessServer } from '#src/cli/commands/witness.ts';
import { checkpointOf, markTree, type ProofDeps, proveExport } from '#src/proof/notary.ts';
import {
  checkpointText,
  newWitnessKey,
  openNote,
  openSigner,
  openVerifier,
  signerOf,
} from '#src/proof/note.ts';
import { LogTree } from '#src/proof/tree.ts';
import { verdictText, verifyExport } from '#src/proof/verifier.ts';
import { addCheckpoint, type PostText, type Witness, Witnesses } from '#src/proof/witnesses.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import { AuditBody } from '#src/stores/audit-file.ts';
import { sqliteProofStore } from '#src/stores/sqlite/proof-store.ts';
import { systemClock, systemIds } from '#src/system/ids.ts';
import { memoryEventLog } from '../support/memory-event-log.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tributary-witness-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

const signers: ProofDeps['signers'] = [signerOf('tributary/test', Buffer.alloc(32, 7))];
const clock = systemClock();
const ids = systemIds();
const meta = { at: 1, actor: 'system', surface: 'system', operation: 'test', request: 'r', v: 1 };

let stores = 0;
const newPath = (): string => {
  stores += 1;
  return join(directory, `${stores}.db`);
};

/** A notary with a new store, or the one at a path, which asks these witnesses. */
const notaryOf = (
  log: EventLog,
  asked: readonly Witness[] = [],
  { post = none, path = newPath() }: { post?: PostText; path?: string } = {},
) => {
  const store = sqliteProofStore(path);
  const witnesses = new Witnesses(asked, { post, store });
  return { log, clock, ids, signers, tree: new LogTree(log, store), witnesses, store };
};
type Notary = ReturnType<typeof notaryOf>;

const none: PostText = () => Promise.reject(new Error('nobody answers'));

const append = (log: EventLog, code: string, seller = 'acme') =>
  log.append(`acme-code_${code}`, -1, [
    {
      id: `${code.padStart(8, '0')}-0000-7000-8000-000000000000`,
      type: 'CodeClaimed',
      data: { code, link_id: 'lnk_1', owner_id: seller },
      meta,
    },
  ]);

/** A witness in memory, and how a notary asks it. */
const witnessOf = (name = 'witness.example') => {
  const kept = new Map<string, string>();
  const memory = {
    load: (origin: string) => kept.get(origin),
    save: (origin: string, note: string) => void kept.set(origin, note),
  };
  const signer = openSigner(newWitnessKey(name));
  const deps = { signer, logs: signers, memory, now: clock.now };
  const post: PostText = async (_url, body) => addCheckpoint(deps, body);
  return {
    deps,
    post,
    witness: { url: 'https://witness.example', key: openVerifier(signer.text) },
  };
};

const ask = async (notary: Notary): Promise<string[]> => {
  const faults: string[] = [];
  await notary.witnesses.ask(notary, new AbortController().signal, (error) =>
    faults.push((error as Error).message),
  );
  return faults;
};

const newestNote = (notary: Notary): string => {
  const { newest } = notary.tree;
  if (!newest) throw new Error('there is no mark');
  return checkpointOf(notary, newest);
};

/** The export of the owner, as the command writes it. */
const fileOf = async (notary: Notary): Promise<Buffer> => {
  const { position } = await notary.log.head();
  const events = await notary.log.readOwner('acme', { after: 0, limit: 1_000, upTo: position });
  const leaves = notary.tree.leavesOf('acme', { after: 0, upTo: position });
  const body = new AuditBody();
  const lines = events.map(({ owner: _owner, ...event }) =>
    String(canonicalize({ ...event, leaf: leaves.get(event.position)?.toString('base64') })),
  );
  const bytes = Buffer.from(body.add(lines));
  const up_to = events.at(-1)?.position ?? 0;
  const proof = proveExport(notary, 'acme', { after: 0, upTo: up_to });
  const about = { after: 0, at: null, classifier_version: 1, log: 'l', owner: 'acme', up_to };
  return Buffer.concat([Buffer.from(body.head({ ...about, ...(proof && { proof }) })), bytes]);
};

const verify = async (file: Buffer, options: Parameters<typeof verifyExport>[1]) => {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield file;
  }
  return verifyExport(chunks(), options);
};

it('A witness cosigns checkpoints that continue each other, and exports show up to where', async () => {
  const { post, witness } = witnessOf();
  const notary = notaryOf(memoryEventLog(), [witness], { post });
  for (let round = 0; round < 5; round += 1) {
    for (let act = 0; act < 7; act += 1) await append(notary.log, `${round}x${act}`);
    await markTree(notary);
    expect(await ask(notary)).toEqual([]);
    const opened = openNote(newestNote(notary), [...signers, witness.key]);
    expect(opened?.signed.map(({ by }) => by.name)).toEqual(['tributary/test', 'witness.example']);
  }
  const { size } = notary.tree;
  await append(notary.log, 'late');
  await markTree(notary);
  const keys = [signers[0].text, witness.key.text];
  const found = await verify(await fileOf(notary), { keys });
  expect(found).toMatchObject({ status: 0, isKeyChecked: true });
  expect(verdictText(found)).toContain(`Signed up to ${size} events with witness.example+`);
  expect(await verify(await fileOf(notary), { keys: [witness.key.text] })).toMatchObject({
    status: 1,
  });
});

it('A witness that is down, lags, lies or answers nonsense does not stop the notary, and is named', async () => {
  const { witness } = witnessOf();
  const stranger = openSigner(newWitnessKey('witness.example'));
  const liar = witnessOf().deps;
  const answers: [RegExp, PostText][] = [
    [/nobody answers/, none],
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
    await append(notary.log, 'one');
    await markTree(notary);
    const faults = await ask(notary);
    expect(faults[0]).toMatch(fault);
    await append(notary.log, 'two');
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
    await append(log, String(round));
    // The others have not read what the first one marks.
    for (const notary of notaries) {
      await markTree(notaries[0] ?? notary);
      expect(await ask(notary)).toEqual([]);
      expect(openNote(newestNote(notary), [witness.key])?.signed).toHaveLength(1);
      await append(log, `${round}${notaries.indexOf(notary)}`);
    }
  }
});

it('A restart still has the newest cosigned checkpoint, also under a new key, while no witness answers and after its tree was built again', async () => {
  const { post, witness } = witnessOf();
  const log = memoryEventLog();
  const path = newPath();
  const before = notaryOf(log, [witness], { post, path });
  await append(log, 'one');
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
    signers: [fresh, ...signers] as ProofDeps['signers'],
  };
  await rotated.tree.advance();
  const keys = [fresh, ...signers, witness.key];
  expect(openNote(newestNote(rotated), keys)?.signed).toHaveLength(3);
  await append(log, 'two');
  await markTree(rotated);
  expect((await ask(rotated))[0]).toMatch(/nobody answers/);
  const found = await verify(await fileOf(rotated), { keys: keys.map(({ text }) => text) });
  expect(found).toMatchObject({ status: 0 });
  expect(found.signedBy.find((by) => by.key === witness.key.text)).toMatchObject({ size: 2 });
  rotated.store.close();
});

it('What a damaged store has of a witness, or of another log, is not served', async () => {
  const { post, witness } = witnessOf();
  const path = newPath();
  const notary = notaryOf(memoryEventLog(), [witness], { post, path });
  await append(notary.log, 'one');
  await markTree(notary);
  await ask(notary);
  const other = notaryOf(memoryEventLog(), [witness], { post, path });
  await append(other.log, 'other');
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
    await append(log, String(act));
    await append(rewritten, String(act), act === 4 ? 'rival' : 'acme');
  }
  await markTree(honest);
  await ask(honest);
  const kept = newestNote(honest);
  await markTree(forger);
  const keys = [signers[0].text];
  expect(await verify(await fileOf(forger), { keys })).toMatchObject({ status: 0 });
  expect(await verify(await fileOf(forger), { keys, checkpoint: kept })).toMatchObject({
    status: 1,
    reason: expect.stringContaining('is not the one that was kept'),
  });
  await append(rewritten, 'more');
  await markTree(forger);
  expect((await ask(forger))[0]).toMatch(/refused the checkpoint of \d+ events with status 422/);
  expect(deps.memory.load('tributary/test')).toBe(kept);
});

it('A log that lost its end is noticed by what a witness cosigned', async () => {
  const { post, witness } = witnessOf();
  const whole = notaryOf(memoryEventLog(), [witness], { post });
  const cut = notaryOf(memoryEventLog(), [witness], { post });
  for (let act = 0; act < 9; act += 1) await append(whole.log, String(act));
  for (let act = 0; act < 5; act += 1) await append(cut.log, String(act));
  for (const notary of [whole, cut]) await markTree(notary);
  await ask(whole);
  await ask(cut);
  expect((await ask(cut))[0]).toContain('the log lost its end');
});

it('A witness refuses what is no request, an unknown log, a foreign signature and a proof that does not fit', async () => {
  const { deps } = witnessOf();
  const notary = notaryOf(memoryEventLog());
  await append(notary.log, 'one');
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
  await append(notary.log, 'one');
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
  expect(await verify(file, { keys: [signers[0].text, key.text] })).toMatchObject({ status: 0 });
  expect(
    newestNote(notary).startsWith(checkpointText({ origin: 'tributary/test', size, root })),
  ).toBe(true);
});

it('A witness over HTTP keeps its key and what it cosigned in its file', async () => {
  const path = join(directory, 'witness.json');
  writeFileSync(path, JSON.stringify({ key: newWitnessKey('w.example'), checkpoints: {} }));
  const notary = notaryOf(memoryEventLog());
  await append(notary.log, 'one');
  await markTree(notary);
  const note = newestNote(notary);
  const post = async () => {
    const { server } = witnessServer(path, [signers[0].text]);
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
