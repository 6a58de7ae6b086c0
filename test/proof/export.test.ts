/** An exported history, and the verifier: what was changed, dropped, inserted, moved or signed by others is noticed. */
import { hash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newSigningKey, openSigner, signNote } from '#src/proof/note.ts';
import { type Verdict, verifyExport, type VerifyOptions } from '#src/proof/verifier.ts';
import { AuditBody } from '#src/stores/audit-file.ts';
import { exported } from '../support/audit/export.ts';
import { randomHistory } from '../support/audit/random-history.ts';
import { seedOr } from '../support/seed.ts';
import { testApp, type TestApp } from '../support/world/app.ts';

const OWNER = 'acme';

let app: TestApp;
let path: string;
let text: string;
let rivalText: string;
let key: string;
beforeAll(async () => {
  app = await testApp();
  const history = await randomHistory(app, OWNER, 4);
  for (let act = 0; act < 40; act += 1) await history.act();
  await app.agent('rival');
  rivalText = readFileSync(await exported(app, 'rival'), 'utf8');
  path = await exported(app, OWNER);
  text = readFileSync(path, 'utf8');
  key = app.service.deps.proof().signers[0].text;
});
afterAll(() => app.close());

async function* bytesOf(content: string | Buffer): AsyncGenerator<Uint8Array> {
  yield Buffer.from(content);
}

const verify = (
  content: string | Buffer,
  options: VerifyOptions = { keys: [key] },
): Promise<Verdict> => verifyExport(bytesOf(content), options);

it('An exported file is intact, in one piece or in chunks of any size, and names its key and checkpoint', async () => {
  const whole = await verify(text);
  expect(whole).toMatchObject({ status: 0, owner: OWNER, isKeyChecked: true });
  expect(whole.signedBy.map((by) => by.key)).toEqual([key]);
  expect(whole.records).toBe(text.split('\n').length - 2);
  for (const highWaterMark of [1_000, 4_096, 65_536])
    expect(await verifyExport(createReadStream(path, { highWaterMark }), { keys: [key] })).toEqual(
      whole,
    );
});

type Head = {
  proof: { checkpoints: string[]; keys: string[]; head: { sequence: number } };
  schemas: Record<string, number>;
} & Record<string, unknown>;

const headOf = (of = text): Head => JSON.parse(of.split('\n')[0] ?? '') as Head;
/** The records as an export has them before it chains them. */
const records = (of = text): string[] =>
  of
    .split('\n')
    .slice(1, -1)
    .map((line) => line.replace(/^\{"chain":"[^"]*",/, '{'));

/** Writes a file whose own hashes are right, as somebody who changed it would. */
const written = (lines: readonly string[], head: Head = headOf()): string => {
  const body = new AuditBody();
  const bytes = Buffer.from(body.add(lines));
  return body.head(head as never) + bytes.toString();
};

/** The same file with another head, whose own hash is right. */
const withHead = (head: Head): string => {
  const open = JSON.stringify({ ...head, head_sha256: '' });
  const sealed = JSON.stringify({ ...head, head_sha256: hash('sha256', open) });
  return text.replace(/^.*/, () => sealed);
};

/** Every value of a record that can be another one. */
const changed = (line: string, random: () => number): string => {
  const event = JSON.parse(line) as {
    data: Record<string, unknown>;
    meta: Record<string, unknown>;
  };
  const member = random() < 0.5 ? event.data : event.meta;
  const names = Object.keys(member);
  const name = names[Math.floor(random() * names.length)] ?? 'added';
  const value = member[name];
  member[name] = typeof value === 'number' ? value + 1 : [value];
  return JSON.stringify(event);
};

/** A linear congruential generator, so that a seed repeats a run. */
const randomOf = (seed: number) => {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
};

it('Each of 1,000 random changes of a file is noticed, although its own hashes are right', async () => {
  const random = randomOf(seedOr(38));
  const lines = records();
  const pick = (to = lines.length): number => Math.floor(random() * to);
  const forger = openSigner(newSigningKey(openSigner(newSigningKey('x')).name));
  const missed: string[] = [];
  const kinds: Record<string, () => string | Buffer> = {
    bit() {
      const bytes = Buffer.from(text);
      const at = pick(bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << pick(8));
      return bytes;
    },
    change: () => written(lines.with(pick(), changed(lines[pick()] ?? '', random))),
    drop: () => written(lines.toSpliced(pick(), 1)),
    insert: () => written(lines.toSpliced(pick(), 0, lines[pick()] ?? '')),
    swap() {
      const at = pick(lines.length - 1);
      return written(lines.toSpliced(at, 2, lines[at + 1] ?? '', lines[at] ?? ''));
    },
    truncate: () => text.slice(0, pick(text.length)),
    tail: () => written(lines.slice(0, pick())),
    owner: () => written(lines, { ...headOf(), owner: 'rival' }),
    schemas() {
      const all = Object.entries(headOf().schemas);
      const [type = '', version = 0] = all[pick(all.length)] ?? [];
      const { [type]: _own, ...others } = headOf().schemas;
      const one = random() < 0.5 ? { [type]: version + 1 } : {};
      return withHead({ ...headOf(), schemas: { ...others, ...one } });
    },
    moved() {
      const line = lines[pick()]?.replace(`"stream":"${OWNER}-`, '"stream":"rival-') ?? '';
      const rivals = records(rivalText);
      return written(rivals.with(pick(rivals.length), line), headOf(rivalText));
    },
    before() {
      const { proof, ...head } = headOf();
      const cut = 1 + pick(lines.length - 1);
      const before = {
        sequence: cut,
        leaf: (JSON.parse(lines[cut - 1] ?? '') as { leaf: string }).leaf,
      };
      return written(lines.slice(cut), { ...head, proof: { ...proof, before } } as Head);
    },
    signed() {
      const { proof, ...head } = headOf();
      const checkpoints = proof.checkpoints.map((note) =>
        signNote(note.slice(0, note.indexOf('\n\n') + 1), [forger]),
      );
      return written(lines, { ...head, proof: { ...proof, checkpoints, keys: [forger.text] } });
    },
  };
  const names = Object.keys(kinds);
  for (let run = 0; run < 1_000; run += 1) {
    const kind = names[run % names.length] ?? '';
    const mutated = kinds[kind]?.() ?? '';
    if (mutated === text) continue;
    const { status } = await verify(mutated);
    if (status === 0) missed.push(`${kind} of run ${run}`);
  }
  expect(missed).toEqual([]);
});

it('The first record that is not the one that was written is named, with its line', async () => {
  const lines = records();
  const at = 7;
  const line = lines[at] ?? '';
  const other = line.replace(/"at":\d+/, '"at":1');
  expect(await verify(written(lines.with(at, other)))).toMatchObject({
    status: 1,
    line: at + 2,
    reason: `record ${at + 1} is not the record that was written`,
  });
});

it('A file without its last records is incomplete, and nothing proves those that it has', async () => {
  const lines = records();
  const { sequence } = headOf().proof.head;
  expect(await verify(written(lines.slice(0, -2)))).toMatchObject({
    status: 3,
    isProved: false,
    reason: `the file is cut: no proof leads to record ${sequence - 2} of ${sequence}`,
  });
});

it('A range of records is incomplete, and each record of it is proved', async () => {
  const { sequence } = headOf().proof.head;
  const positions = records().map((line) => (JSON.parse(line) as { position: number }).position);
  const [from, to] = [positions[4], positions[20]];
  const ranges = [
    [`&from=${from}`, 6, sequence],
    [`&to=${to}`, 1, 21],
    [`&from=${from}&to=${to}`, 6, 21],
  ] as const;
  for (const [query, first, last] of ranges) {
    const file = readFileSync(await exported(app, OWNER, { query, limit: 1_000 }), 'utf8');
    const found = await verify(file);
    expect(found).toMatchObject({ status: 3, isProved: true });
    expect(found.reason).toMatch(new RegExp(`records ${first} to ${last} of \\d+ under`));
    const other = file.replace(/"code":"(.)/, (_all, one) => `"code":"${one === 'a' ? 'b' : 'a'}`);
    expect(await verify(other)).toMatchObject({ isProved: false });
  }
});

it('Without a key, or with a key that did not sign, a file is not said to be of somebody', async () => {
  expect(await verify(text, {})).toMatchObject({ status: 0, isKeyChecked: false });
  const other = openSigner(newSigningKey(key.split('+')[0] ?? '')).text;
  expect(await verify(text, { keys: [other] })).toMatchObject({ status: 1 });
  expect(await verify(text, { keys: ['no key'] })).toMatchObject({ status: 2 });
});

it('A later file continues the checkpoint of an earlier one, and a checkpoint of another log is refused', async () => {
  await app.agent('earlier');
  const { checkpoint = '' } = await verify(readFileSync(await exported(app, OWNER)));
  const [, size = ''] = checkpoint.split('\n');
  await app.agent('later');
  const later = readFileSync(await exported(app, OWNER), 'utf8');
  const since = readFileSync(await exported(app, OWNER, { query: `&since=${size}` }), 'utf8');
  expect(await verify(since, { keys: [key], checkpoint })).toMatchObject({ status: 0 });
  expect(await verify(later, { keys: [key], checkpoint })).toMatchObject({ status: 3 });
  const forged = checkpoint.replace(/\n[^\n]{43}=\n/, `\n${'A'.repeat(43)}=\n`);
  expect(await verify(since, { keys: [key], checkpoint: forged })).toMatchObject({ status: 1 });
  const unknown = await app.desk('GET', `/audit/events?owner_id=${OWNER}&since=${size}1`);
  expect(unknown).toMatchObject({ status: 400 });
});

it('A file names the types of its records and the version of each, and no others', async () => {
  const types = records().map((line) => (JSON.parse(line) as { type: string }).type);
  const named = Object.fromEntries([...new Set(types)].toSorted().map((type) => [type, 1]));
  expect(headOf().schemas).toEqual(named);
  expect(await verify(withHead(headOf()))).toMatchObject({ status: 0 });
  const more = { ...named, LinkSold: 1 };
  expect(await verify(withHead({ ...headOf(), schemas: more }))).toMatchObject({
    status: 1,
    reason: 'the first line names other types or versions than the records have',
  });
});

it('Other files are malformed', async () => {
  for (const other of [
    '',
    '\n',
    '{}\n',
    'PK\u0003',
    'null\n',
    '[]\n',
    text.replace('"version":3', '"version":4'),
    `${'['.repeat(200_000)}\n`,
    Buffer.from('\uFEFF' + text),
    Buffer.of(0xff, 10),
  ])
    expect(await verify(other)).toMatchObject({ status: 2 });
});
