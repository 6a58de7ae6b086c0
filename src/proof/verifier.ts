/**
 * Verifies an exported history of an owner, without the service. This file needs nothing else: it runs in Node, in Deno and in
 * browsers, and was written apart from the notary, so that a mistake of one shows in the other.
 *
 * A file is a head, and a record a line. It is checked in this order: the hashes of lines and file (RFC 8785 form is not needed
 * for them), the leaf of each record, which has the hash of the owner's leaf before, the newest leaf in the tree of owners, that
 * tree in the last leaf of the tree of the log (RFC 6962), and its root in a signed checkpoint (C2SP tlog-checkpoint).
 */

/** `status`: 0 intact, 1 altered, 2 malformed (no such file, or a newer one), 3 incomplete. */
export type Verdict = {
  status: 0 | 1 | 2 | 3;
  /** What is wrong, and the first line that is, from 1. */
  reason?: string;
  line?: number;
  owner?: string;
  records?: number;
  /** The position of the log up to which nothing is missing. */
  position?: number;
  /** Whether one of the given keys signed; otherwise anybody can have made the file. */
  isKeyChecked: boolean;
  /** Texts of the keys that signed the newest checkpoint. */
  signedBy: string[];
  /** The newest checkpoint. Keep it: a later file must continue it. */
  checkpoint?: string;
};

/** `keys`: one of these must have signed, `<name>+<id>+<key>`. `checkpoint`: one that was kept, which the file must have. */
export type VerifyOptions = { keys?: readonly string[]; checkpoint?: string };

type Leaf = { sequence: number; leaf: string };
type Proof = {
  /** The first and the newest checkpoint, and the hashes that show that the newest tree begins with the first. */
  checkpoints: string[];
  consistency: string[];
  keys: string[];
  /** The newest leaf of the owner, and what leads from it to the root of the tree of owners. */
  head: Leaf;
  owners: { index: number; count: number; proof: string[] };
  /** Leads from the last leaf of the tree, which has that root, to its root. */
  last: string[];
  /** Before the first record of the file: 0 and an empty text if it has all. */
  before: Leaf;
};
type Head = { format: string; version: number; owner: string; events: number; sha256: string } & {
  head_sha256: string;
  up_to: number;
  proof?: Proof;
};

class Wrong extends Error {
  readonly verdict: Pick<Verdict, 'status' | 'line'>;
  constructor(status: 1 | 2 | 3, reason: string, line?: number) {
    super(reason);
    this.verdict = line === undefined ? { status } : { status, line };
  }
}

const VERSION = 3;
const encoder = new TextEncoder();

/* SHA-256 (FIPS 180-4): that of browsers is asynchronous, which costs more than the hash. */

/** The first 32 bits of the fractional parts of roots of primes, from which the constants of SHA-256 are made. */
const rootsOfPrimes = (count: number, power: number): Int32Array => {
  const roots: number[] = [];
  for (let number = 2; roots.length < count; number += 1) {
    let isPrime = true;
    for (let factor = 2; factor * factor <= number; factor += 1) isPrime &&= number % factor !== 0;
    if (isPrime) roots.push(((number ** power % 1) * 2 ** 32) | 0);
  }
  return Int32Array.from(roots);
};

const K = rootsOfPrimes(64, 1 / 3);
const START = rootsOfPrimes(8, 1 / 2);
const BLOCK = 64;

class Sha256 {
  readonly #state = Int32Array.from(START);
  readonly #words = new Int32Array(64);
  readonly #rest = new Uint8Array(BLOCK);
  #filled = 0;
  #length = 0;

  update(bytes: Uint8Array): this {
    this.#length += bytes.length;
    let at = 0;
    while (at < bytes.length) {
      const taken = Math.min(BLOCK - this.#filled, bytes.length - at);
      this.#rest.set(bytes.subarray(at, at + taken), this.#filled);
      this.#filled = (this.#filled + taken) % BLOCK;
      if (this.#filled === 0) this.#block(this.#rest);
      at += taken;
    }
    return this;
  }

  digest(): Uint8Array {
    const bits = this.#length * 8;
    const padding = new Uint8Array((this.#filled < 56 ? 56 : 120) - this.#filled + 8);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(padding.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(padding.length - 4, bits % 2 ** 32);
    this.update(padding);
    const digest = new DataView(new ArrayBuffer(32));
    this.#state.forEach((word, place) => digest.setInt32(4 * place, word));
    return new Uint8Array(digest.buffer);
  }

  #block(block: Uint8Array): void {
    const w = this.#words;
    const view = new DataView(block.buffer);
    for (let i = 0; i < 16; i += 1) w[i] = view.getInt32(4 * i);
    for (let i = 16; i < 64; i += 1) {
      const x = w[i - 15] as number;
      const y = w[i - 2] as number;
      const one = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const two = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = ((w[i - 16] as number) + one + (w[i - 7] as number) + two) | 0;
    }
    let [a, b, c, d, e, f, g, h] = this.#state as unknown as Eight;
    for (let i = 0; i < 64; i += 1) {
      const sum1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const first = (h + sum1 + ((e & f) ^ (~e & g)) + (K[i] as number) + (w[i] as number)) | 0;
      const sum0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const second = (sum0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + second) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((word, place) => {
      this.#state[place] = ((this.#state[place] as number) + word) | 0;
    });
  }
}

type Eight = [number, number, number, number, number, number, number, number];

const sha256 = (...parts: (Uint8Array | string)[]): Uint8Array => {
  const hash = new Sha256();
  for (const part of parts) hash.update(typeof part === 'string' ? encoder.encode(part) : part);
  return hash.digest();
};

const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));
const base64url = (bytes: Uint8Array): string =>
  base64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const fromBase64 = (text: string): Uint8Array =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** JCS (RFC 8785): what `JSON.stringify` writes for texts and numbers is canonical. */
const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
};

/* The tree of RFC 6962. */

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);
const leafHash = (text: string): Uint8Array => sha256(LEAF, text);
const nodeHash = (left: Uint8Array, right: Uint8Array): Uint8Array => sha256(NODE, left, right);

/** The root that an inclusion proof leads to (RFC 9162, section 2.1.3.2); undefined if it has another length. */
export const rootFromLeaf = (
  leaf: Uint8Array,
  { index, size, proof }: { index: number; size: number; proof: readonly string[] },
): Uint8Array | undefined => {
  let [at, last, root] = [index, size - 1, leaf];
  for (const sibling of proof.map(fromBase64)) {
    if (last === 0) return undefined;
    if (at % 2 === 1 || at === last) {
      root = nodeHash(sibling, root);
      while (at % 2 === 0 && at > 0) [at, last] = [at / 2, Math.floor(last / 2)];
    } else root = nodeHash(root, sibling);
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 && index < size ? root : undefined;
};

type Tree = { size: number; root: Uint8Array };

/** Whether a proof shows that `next` begins with `first` (RFC 9162, section 2.1.4.2). */
export const isConsistent = (first: Tree, next: Tree, proof: readonly string[]): boolean => {
  if (first.size === next.size) return proof.length === 0 && hex(first.root) === hex(next.root);
  if (first.size === 0 || first.size > next.size) return false;
  const hashes = proof.map(fromBase64);
  if (Number.isInteger(Math.log2(first.size))) hashes.unshift(first.root);
  let [at, last] = [first.size - 1, next.size - 1];
  while (at % 2 === 1) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  const start = hashes.shift();
  if (!start) return false;
  let [one, other] = [start, start];
  for (const hash of hashes) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      one = nodeHash(hash, one);
      other = nodeHash(hash, other);
      while (at % 2 === 0 && at > 0) [at, last] = [at / 2, Math.floor(last / 2)];
    } else other = nodeHash(other, hash);
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 && hex(one) === hex(first.root) && hex(other) === hex(next.root);
};

/* Signed notes. */

const ED25519 = 1;

/** Returns whether a key, `<name>+<id>+<key>`, signed a note. Throws Wrong if its signature does not fit, or it is no key. */
const isSignedWith = async (note: string, keyText: string): Promise<boolean> => {
  const [, name = '', id = '', key = ''] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(keyText) ?? [];
  const typed = fromBase64(key);
  if (typed[0] !== ED25519 || hex(sha256(`${name}\n`, typed)).slice(0, 8) !== id)
    throw new Wrong(2, `${keyText} is no key: a key is <name>+<id>+<key> of Ed25519`);
  const text = note.slice(0, note.lastIndexOf('\n\n') + 1);
  const lines = note.slice(text.length + 1).split('\n');
  const signatures = lines
    .filter((line) => line.startsWith(`\u2014 ${name} `))
    .map((line) => fromBase64(line.slice(name.length + 3)))
    .filter((bytes) => hex(bytes.subarray(0, 4)) === id);
  const [signature] = signatures;
  if (!signature) return false;
  const imported = await crypto.subtle.importKey(
    'raw',
    Uint8Array.from(typed.subarray(1)),
    'Ed25519',
    false,
    ['verify'],
  );
  const signed = Uint8Array.from(signature.subarray(4));
  if (await crypto.subtle.verify('Ed25519', imported, signed, encoder.encode(text))) return true;
  throw new Wrong(1, `the signature of ${name} does not fit the checkpoint`, 1);
};

const readCheckpoint = (note: string): Tree & { origin: string; text: string } => {
  const [text = '', origin = '', size = '', root = ''] =
    /^([^\n]+)\n(0|[1-9]\d*)\n([A-Za-z0-9+/]{43}=)\n(?=\n)/.exec(note) ?? [];
  if (text === '') throw new Wrong(2, 'a checkpoint has an origin, a size and a root', 1);
  return { origin, text, size: Number(size), root: fromBase64(root) };
};

/* The file. */

async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest = new Uint8Array();
  let number = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      const line = chunk.subarray(from, end);
      yield rest.length === 0 ? line : concat(rest, line);
      rest = new Uint8Array();
      from = end + 1;
      number += 1;
    }
    if (from < chunk.length) rest = concat(rest, chunk.subarray(from));
  }
  if (rest.length > 0) throw new Wrong(number === 0 ? 2 : 1, 'the last line is cut', number + 1);
}

const concat = (one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> => {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
};

/** Refuses bytes that are no UTF-8. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const parse = (bytes: Uint8Array, line: number): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(decoder.decode(bytes));
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Refused below.
  }
  throw new Wrong(line === 1 ? 2 : 1, 'this line is not JSON', line);
};

const readHead = (bytes: Uint8Array): Head => {
  const head = parse(bytes, 1) as unknown as Head;
  if (head.format !== 'tributary-audit')
    throw new Wrong(2, 'this is no file of tributary audit export', 1);
  if (head.version !== VERSION)
    throw new Wrong(
      2,
      `the file has version ${head.version}; this verifier reads version ${VERSION}`,
      1,
    );
  const text = decoder.decode(bytes);
  const own = `"head_sha256":"${head.head_sha256}"`;
  if (hex(sha256(text.replace(own, '"head_sha256":""'))) !== head.head_sha256)
    throw new Wrong(1, 'the first line was changed', 1);
  return head;
};

const CHAIN_CHARS = 22;
const CHAIN = '{"chain":"';

/** Checks one line after another: its hash, which covers the line before, and its leaf, which covers the leaf before. */
class Records {
  readonly #owner: string;
  readonly #body = new Sha256();
  #chain = '';
  #line = 1;
  #position = 0;
  sequence: number;
  leaf: string;

  constructor(owner: string, { sequence, leaf }: Proof['before']) {
    this.#owner = owner;
    this.sequence = sequence;
    this.leaf = leaf;
  }

  add(bytes: Uint8Array): void {
    this.#line += 1;
    this.#body.update(bytes).update(Uint8Array.of(10));
    const rest = bytes.subarray(CHAIN.length + CHAIN_CHARS + 2);
    this.#chain = base64url(sha256(`${this.#chain}{`, rest)).slice(0, CHAIN_CHARS);
    const { chain, leaf, opened: _opened, position, ...record } = parse(bytes, this.#line);
    if (chain !== this.#chain)
      this.#refuse('was changed, or a line before it is missing or in another place');
    if (typeof position !== 'number' || position <= this.#position)
      return this.#refuse('is out of order');
    this.#position = position;
    this.sequence += 1;
    const own = { ...record, owner: this.#owner, previous: this.leaf, sequence: this.sequence };
    this.leaf = base64(leafHash(canonical(own)));
    if (leaf !== this.leaf) this.#refuse('is not the record that was written');
  }

  #refuse(what: string): never {
    throw new Wrong(1, `record ${this.sequence} ${what}`, this.#line);
  }

  digest(): string {
    return hex(this.#body.digest());
  }
}

/** Checks that the newest checkpoint proves the newest leaf of the owner. */
const checkTree = (owner: string, proof: Proof): void => {
  const [first, newest] = proof.checkpoints.map(readCheckpoint);
  if (!first || !newest) throw new Wrong(2, 'the file has no checkpoints', 1);
  const { index, count, proof: path } = proof.owners;
  const heads = rootFromLeaf(leafHash(canonical({ ...proof.head, owner })), {
    index,
    size: count,
    proof: path,
  });
  const last = heads && leafHash(canonical({ heads: base64(heads), owners: count }));
  const { size } = newest;
  const root = last && rootFromLeaf(last, { index: size - 1, size, proof: proof.last });
  if (!root || hex(root) !== hex(newest.root))
    throw new Wrong(1, `the newest checkpoint does not have this newest record of ${owner}`, 1);
  if (first.origin !== newest.origin || !isConsistent(first, newest, proof.consistency))
    throw new Wrong(1, 'the newest checkpoint is not a continuation of the first one', 1);
};

const checkSignatures = async (
  { checkpoints, keys: own }: Proof,
  keys: readonly string[],
): Promise<string[]> => {
  const signedBy: string[] = [];
  for (const key of new Set([...keys, ...own])) {
    const signed = await Promise.all(checkpoints.map((note) => isSignedWith(note, key)));
    if (signed.at(-1)) signedBy.push(key);
  }
  if (signedBy.length === 0) throw new Wrong(1, 'no key signed the newest checkpoint', 1);
  if (keys.length > 0 && !keys.some((key) => signedBy.includes(key)))
    throw new Wrong(1, 'the newest checkpoint is not signed with the key that was given', 1);
  return signedBy;
};

/**
 * Verifies a file in one pass; memory does not grow with it.
 *
 * @example
 * const file = await open('northwind.jsonl');
 * const verdict = await verifyExport(file.readableWebStream(), { keys: [key] });
 */
export const verifyExport = async (
  chunks: AsyncIterable<Uint8Array>,
  { keys = [], checkpoint }: VerifyOptions = {},
): Promise<Verdict> => {
  const verdict: Verdict = { status: 0, isKeyChecked: false, signedBy: [] };
  try {
    const lines = linesOf(chunks);
    const opening = await lines.next();
    if (opening.done) throw new Wrong(2, 'the file is empty', 1);
    const head = readHead(opening.value);
    const { owner, proof, events } = head;
    verdict.owner = owner;
    if (!proof) throw new Wrong(3, 'the file has no proof: the log had no checkpoint yet', 1);
    checkTree(owner, proof);
    verdict.signedBy = await checkSignatures(proof, keys);
    verdict.isKeyChecked = keys.length > 0;
    const newest = proof.checkpoints.at(-1) ?? '';
    verdict.checkpoint = newest;
    if (
      checkpoint !== undefined &&
      !proof.checkpoints.some(
        (note) => readCheckpoint(note).text === readCheckpoint(checkpoint).text,
      )
    )
      throw new Wrong(1, 'the file does not continue the checkpoint that was given', 1);
    const records = new Records(owner, proof.before);
    for await (const line of lines) {
      records.add(line);
      verdict.records = (verdict.records ?? 0) + 1;
    }
    if (records.digest() !== head.sha256 || (verdict.records ?? 0) !== events)
      throw new Wrong(1, 'the records are not those that the first line names', 1);
    const { sequence, leaf } = proof.head;
    if (records.sequence === sequence && records.leaf !== leaf)
      throw new Wrong(1, `record ${sequence} is not the one that the checkpoint names`);
    if (records.sequence !== sequence || proof.before.sequence !== 0)
      throw new Wrong(
        3,
        `the file has the records ${proof.before.sequence + 1} to ${records.sequence} of ${sequence} under its checkpoint`,
      );
    verdict.position = head.up_to;
    return verdict;
  } catch (error) {
    if (error instanceof Wrong) return { ...verdict, ...error.verdict, reason: error.message };
    if (error instanceof DOMException || error instanceof TypeError)
      return { ...verdict, status: 2, reason: `the file has no valid form: ${error.message}` };
    throw error;
  }
};

const STATUS = ['intact', 'altered', 'malformed', 'incomplete'];

/** The verdict in sentences, for people. */
export const verdictText = (verdict: Verdict): string => {
  const { status, reason, line, owner = '', records = 0, isKeyChecked, signedBy } = verdict;
  const lines = isKeyChecked
    ? []
    : ['The key was not checked: anybody can have made this file. Name the key that you trust.'];
  if (status === 0)
    lines.push(
      `Intact: ${records} records of ${owner}, nothing altered or missing up to position ${verdict.position}.`,
    );
  else lines.push(`${STATUS[status]}: ${line === undefined ? '' : `line ${line}: `}${reason}.`);
  return [...lines, ...signedBy.map((key) => `Signed with ${key}`)].join('\n');
};

/** Run as a program: `node verifier.js FILE [KEY]`; the exit status is that of the verdict. */
const [, program = '', file = '', ...keys] = globalThis.process?.argv ?? [];
if (/verifier\.[jt]s$/.test(program)) {
  const { createReadStream } = process.getBuiltinModule('node:fs');
  const run = async (): Promise<void> => {
    const verdict = await verifyExport(createReadStream(file), { keys });
    process.stdout.write(`${verdictText(verdict)}\n`);
    process.exitCode = verdict.status;
  };
  void run();
}
