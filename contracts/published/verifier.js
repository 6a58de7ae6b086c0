/**
 * Verifies an exported history of an owner, without the service, in Node, in Deno and in browsers. This file needs nothing
 * else, and was written apart from the notary, so that a mistake of one shows in the other.
 *
 * A file is a head, and a record a line. Checked are the hash of the head, the types that it names, the hash of each line with
 * the line before, the leaf of each record, which has the hash of the owner's leaf before, the newest leaf in the tree of
 * owners, that tree in the last leaf of the tree of the log (RFC 6962), and its root in a signed checkpoint (C2SP).
 */

/** `status`: 0 intact, 1 altered, 2 malformed (no such file, or a newer one), 3 incomplete. */



















/** `keys`: each must have signed, `<name>+<id>+<key>`. `checkpoint`: one that was kept, which the file must continue. */




/** What is in the head of a file; src/proof/notary.ts says what each member leads to. */


















const wrong = (status           , reason        , line         ) =>
  Object.assign(new Error(reason), { found: line === undefined ? { status } : { status, line } });

const encoder = new TextEncoder();
const joined = (...parts                         )        => {
  const all = parts.map((part) => (typeof part === 'string' ? encoder.encode(part) : part));
  const whole = new Uint8Array(all.reduce((length, part) => length + part.length, 0));
  all.reduce((at, part) => {
    whole.set(part, at);
    return at + part.length;
  }, 0);
  return whole;
};

/* SHA-256 (FIPS 180-4): that of browsers is asynchronous, which costs more than the hash. */

const PRIMES = [...Array(312).keys()].filter(
  (number) => number > 1 && [...Array(number).keys()].every((by) => by < 2 || number % by > 0),
);
/** The first 32 bits of the fractional parts of roots of primes, from which the constants of SHA-256 are made. */
const fractions = (primes          , power        ) =>
  Int32Array.from(primes, (prime) => ((prime ** power % 1) * 2 ** 32) | 0);
const K = fractions(PRIMES, 1 / 3);
const START = fractions(PRIMES.slice(0, 8), 1 / 2);
const w = new Int32Array(64);
const addBlock = (state            , view          , from        )       => {
  for (let i = 0; i < 16; i += 1) w[i] = view.getInt32(from + 4 * i);
  for (let i = 16; i < 64; i += 1) {
    const x = w[i - 15]          ;
    const y = w[i - 2]          ;
    const one = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const two = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    w[i] = ((w[i - 16]          ) + one + (w[i - 7]          ) + two) | 0;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < 64; i += 1) {
    const sum1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const first = (h + sum1 + ((e & f) ^ (~e & g)) + (K[i]          ) + (w[i]          )) | 0;
    const sum0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const second = (sum0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  state.set([a, b, c, d, e, f, g, h].map((word, place) => word + (state[place] ?? 0)));
};

const sha256 = (...parts                         )        => {
  const bytes = joined(...parts, Uint8Array.of(0x80));
  const padded = joined(bytes, new Uint8Array(8 + ((120 - (bytes.length % 64)) % 64)));
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(8 * (bytes.length - 1)));
  const state = Int32Array.from(START);
  for (let from = 0; from < padded.length; from += 64) addBlock(state, view, from);
  state.forEach((word, place) => view.setInt32(4 * place, word));
  return padded.subarray(0, 32);
};

const base64 = (bytes            )         => btoa(String.fromCharCode(...bytes));
const hex = (bytes            )         =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const fromBase64 = (text        )        =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** RFC 8785: what `JSON.stringify` writes for texts and numbers is canonical. */
const canonical = (value         )         => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
};

/* The tree of RFC 6962. */

const leafHash = (text        )        => sha256('\0', text);
const nodeHash = (left            , right            )        => sha256('\u0001', left, right);

/** So that logarithms are exact. */
const SIZE_MAX = 2 ** 45;
/** The size of the left part of a tree: the largest power of two below its size. */
const splitOf = (size        )         => 2 ** Math.ceil(Math.log2(size) - 1);
/** Of a proof that is too short: no root follows from it. */
const NO_HASH = new Uint8Array();

/** The root that an inclusion proof leads to (RFC 6962, section 2.1.1); undefined if it has another length. */
export const rootFromLeaf = (leaf            , { index, size, proof }                         ) => {
  const hashes = proof.map(fromBase64);
  const climb = (from        , to        )             => {
    if (to - from === 1) return leaf;
    const middle = from + splitOf(to - from);
    const sibling = hashes.pop() ?? NO_HASH;
    return index < middle
      ? nodeHash(climb(from, middle), sibling)
      : nodeHash(sibling, climb(middle, to));
  };
  const root = index >= 0 && index < size && size <= SIZE_MAX ? climb(0, size) : undefined;
  return hashes.length === 0 ? root : undefined;
};

/** Whether a proof shows that `next` begins with `first` (RFC 6962, section 2.1.2). */
export const isConsistent = (first      , next      , proof                   )          => {
  if (!(first.size > 0 && first.size <= next.size && next.size <= SIZE_MAX)) return false;
  const hashes = proof.map(fromBase64);
  /** The roots of both trees within a range. */
  const climb = (from        , to        )               => {
    const sibling = from === 0 && to === first.size ? first.root : (hashes.pop() ?? NO_HASH);
    if (to === first.size) return [sibling, sibling];
    const middle = from + splitOf(to - from);
    if (first.size > middle) return climb(middle, to).map((hash) => nodeHash(sibling, hash));
    const [one = NO_HASH, other = NO_HASH] = climb(from, middle);
    return [one, nodeHash(other, sibling)];
  };
  const [one, other] = climb(0, next.size).map(hex);
  return hashes.length === 0 && one === hex(first.root) && other === hex(next.root);
};

/* Signed notes. */

/** The kinds of keys, by their first byte: of the notary, and of witnesses, whose signatures begin with a time. */
const KINDS = new Map([
  [1, { algorithm: 'Ed25519', format: 'raw', stampEnd: 4 }],
  [4, { algorithm: 'Ed25519', format: 'raw', stampEnd: 12 }],
  [6, { algorithm: 'ML-DSA-44', format: 'raw-public', stampEnd: 12 }],
]);

const readCheckpoint = (note        )             => {
  const [text = '', origin = '', size = '', root = ''] =
    /^([^\n]+)\n(0|[1-9]\d*)\n([A-Za-z0-9+/]{43}=)\n(?=\n)/.exec(note) ?? [];
  if (text === '') throw wrong(2, 'a checkpoint has an origin, a size and a root', 1);
  return { origin, text, size: Number(size), root: fromBase64(root) };
};

const named = (name        )        => joined(Uint8Array.of(encoder.encode(name).length), name);

/** What a key of a kind signs for a checkpoint, with its time where it has one. */
const signedBytes = (kind        , name        , note        , stamp       )        => {
  const { text, origin, size, root } = readCheckpoint(note);
  if (kind === 1) return joined(text);
  const time = new DataView(stamp.buffer).getBigUint64(0);
  if (kind === 4) return joined(`cosignature/v1\ntime ${time}\n${text}`);
  const sizes = new Uint8Array(16);
  new DataView(sizes.buffer).setBigUint64(8, BigInt(size));
  return joined('subtree/v1\n\0', named(name), stamp, named(origin), sizes, root);
};

/** Returns whether a key, `<name>+<id>+<key>`, signed a note. Throws if its signature does not fit, or it is no key. */
const isSignedWith = async (note        , keyText        )                   => {
  const [, name = '', id = '', key = ''] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(keyText) ?? [];
  const typed = fromBase64(key);
  const [byte = 0] = typed;
  const kind = KINDS.get(byte);
  if (!kind || hex(sha256(`${name}\n`, typed)).slice(0, 8) !== id)
    throw wrong(2, `${keyText} is no key: a key is <name>+<id>+<key>`);
  const lines = note.slice(note.indexOf('\n\n') + 2).split('\n');
  const signature = lines
    .filter((line) => line.startsWith(`\u2014 ${name} `))
    .map((line) => fromBase64(line.slice(name.length + 3)))
    .find((bytes) => hex(bytes.subarray(0, 4)) === id);
  if (!signature) return false;
  const { algorithm, format, stampEnd } = kind;
  const [raw, { subtle }] = [typed.slice(1), crypto];
  const imported = await subtle.importKey(format         , raw, algorithm, false, ['verify']);
  const signed = signedBytes(byte, name, note, signature.slice(4, stampEnd));
  if (await subtle.verify(algorithm, imported, signature.slice(stampEnd), signed)) return true;
  throw wrong(1, `the signature of ${name} does not fit the checkpoint`, 1);
};

async function* linesOf(chunks        )                             {
  let [rest, number] = [new Uint8Array(), 1];
  for await (const chunk of chunks) {
    const bytes = joined(rest, chunk);
    let from = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, from)) {
      yield bytes.subarray(from, end);
      from = end + 1;
      number += 1;
    }
    rest = bytes.subarray(from);
    if (rest.length > 2 ** 22) throw wrong(2, 'this line is too long', number);
  }
  if (rest.length > 0) throw wrong(number === 1 ? 2 : 1, 'the last line is cut', number);
}

/** Refuses bytes that are no UTF-8. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads a line whose text follows from its value, so that no two readers understand it differently. */
const parse = (bytes            , line        , textOf                            ) => {
  try {
    const text = decoder.decode(bytes);
    const value          = JSON.parse(text);
    if (textOf(value) === text) return value                           ;
  } catch {
    // Refused below.
  }
  throw wrong(line === 1 ? 2 : 1, 'this line is not canonical JSON', line);
};

const readHead = (bytes            )       => {
  const head = parse(bytes, 1, JSON.stringify)        ;
  const { format, version, head_sha256: own } = head;
  if (format !== 'tributary-audit') throw wrong(2, 'this is no file of audit export', 1);
  if (version !== 3) throw wrong(2, `the file is of version ${version}, not 3`, 1);
  if (hex(sha256(JSON.stringify({ ...head, head_sha256: '' }))) !== own)
    throw wrong(1, 'the first line was changed', 1);
  return head;
};
const CHAIN_CHARS = 22;
const REST_AT = '{"chain":"",'.length + CHAIN_CHARS;

/** Checks the hash of each line, which covers the line before, and its leaf, which covers the leaf before. Returns the last. */
const checkRecords = async (owner        , before      , lines        ) => {
  const schemas                         = {};
  let { sequence, leaf: previous } = before;
  let [hash, number, last] = ['', 1, 0];
  for await (const bytes of lines) {
    number += 1;
    sequence += 1;
    const { chain, leaf, opened: _, position, ...record } = parse(bytes, number, canonical);
    const refuse = (what        ) => wrong(1, `record ${sequence} ${what}`, number);
    const own = base64(sha256(`${hash}{`, bytes.subarray(REST_AT))).slice(0, CHAIN_CHARS);
    hash = own.replaceAll('+', '-').replaceAll('/', '_');
    if (chain !== hash) throw refuse('was changed, or a line before it is missing or moved');
    if (!(Number(position) > last)) throw refuse('is out of order');
    last = Number(position);
    const [type, v] = [String(record['type']), Number(Object(record['meta']).v)];
    schemas[type] = Math.max(schemas[type] ?? v, v);
    previous = base64(leafHash(canonical({ ...record, owner, previous, sequence })));
    if (leaf !== previous) throw refuse('is not the record that was written');
  }
  return { sequence, leaf: previous, schemas };
};

const hasRoot = (leaf            , { size, root }      , path      )          => {
  const found = rootFromLeaf(leaf, { ...path, size });
  return found !== undefined && hex(found) === hex(root);
};

/** Checks that the newest checkpoint proves the newest leaf of the owner, and continues the first one. Returns it. */
const checkTree = (owner        , proof       )             => {
  const [first, newest] = proof.checkpoints.map(readCheckpoint)                            ;
  const { count: size, ...path } = proof.owners;
  const heads = rootFromLeaf(leafHash(canonical({ ...proof.head, owner })), { ...path, size });
  const last = leafHash(canonical({ heads: base64(heads ?? NO_HASH), owners: size }));
  if (!hasRoot(last, newest, { index: newest.size - 1, proof: proof.last }))
    throw wrong(1, `the newest checkpoint does not have this newest record of ${owner}`, 1);
  if (first.origin !== newest.origin || !isConsistent(first, newest, proof.consistency))
    throw wrong(1, 'the newest checkpoint is not a continuation of the first one', 1);
  return newest;
};

/** Checks that the file continues a checkpoint that was kept. */
const checkKept = ({ checkpoints }       , kept        )       => {
  const { text, size } = readCheckpoint(kept);
  const same = checkpoints.map(readCheckpoint).find((own) => own.size === size);
  if (!same) throw wrong(3, `the file does not show that it continues the tree of ${size}`, 1);
  if (same.text !== text) throw wrong(1, `the tree of ${size} is not the one that was kept`, 1);
};

const checkSignatures = async (proof       , keys                   , newest      ) => {
  const signedBy                      = [];
  for (const key of new Set([...keys, ...proof.keys])) {
    try {
      for (const note of proof.checkpoints.toReversed())
        if ((await isSignedWith(note, key)) && signedBy.at(-1)?.key !== key)
          signedBy.push({ key, size: readCheckpoint(note).size });
    } catch (error) {
      // A browser may not know a kind of key that the file has besides; one that was given must be checked.
      if ((error         ).name !== 'NotSupportedError' || keys.includes(key)) throw error;
    }
  }
  const trusted = signedBy.filter(({ key }) => keys.length === 0 || keys.includes(key));
  if (trusted.length < new Set(keys).size) throw wrong(1, 'a key that you named did not sign', 1);
  if (!trusted.some(({ size }) => size === newest.size))
    throw wrong(1, 'no key that you named signed the newest checkpoint', 1);
  return signedBy;
};

/** Checks that the last record is the newest one, or in the tree. */
const checkEnd = ({ head, before, end }       , last      , newest      )       => {
  const { sequence, leaf } = last;
  if (sequence === head.sequence && leaf !== head.leaf)
    throw wrong(1, `record ${sequence} is not the one that the checkpoint names`);
  const isInTree = end && sequence > before.sequence && hasRoot(fromBase64(leaf), newest, end);
  if (sequence !== head.sequence && !isInTree)
    throw wrong(3, `the file is cut: no proof leads to record ${sequence} of ${head.sequence}`);
};

const verifyLines = async (verdict         , file        , options               ) => {
  const { keys = [], checkpoint } = options;
  const lines = linesOf(file);
  const opening = await lines.next();
  if (opening.done) throw wrong(2, 'the file is empty', 1);
  const { owner, proof, events, schemas, up_to } = readHead(opening.value);
  verdict.owner = owner;
  if (!proof) throw wrong(3, 'the file has no proof: the log had no checkpoint yet', 1);
  const newest = checkTree(owner, proof);
  verdict.signedBy = await checkSignatures(proof, keys, newest);
  Object.assign(verdict, { isKeyChecked: keys.length > 0, checkpoint: proof.checkpoints[1] });
  if (checkpoint !== undefined) checkKept(proof, checkpoint);
  const { before, head } = proof;
  const last = await checkRecords(owner, before, lines);
  verdict.records = last.sequence - before.sequence;
  if (verdict.records !== events)
    throw wrong(1, `the file has ${verdict.records} records, and should have ${events}`, 1);
  if (canonical(last.schemas) !== canonical(schemas))
    throw wrong(1, 'the first line names other types or versions than the records have', 1);
  checkEnd(proof, last, newest);
  Object.assign(verdict, { isProved: true, position: up_to });
  const range = `${before.sequence + 1} to ${last.sequence} of ${head.sequence}`;
  if (last.sequence !== head.sequence || before.sequence !== 0)
    throw wrong(3, `the file has the records ${range} under its checkpoint, unaltered`);
  return verdict;
};

/** Verifies a file, for example `fs.createReadStream(path)`, in one pass; memory does not grow with it. */
export const verifyExport = async (file        , options                = {})                   => {
  const verdict          = { status: 0, isProved: false, isKeyChecked: false, signedBy: [] };
  try {
    return await verifyLines(verdict, file, options);
  } catch (error) {
    const { message: reason, found = { status: 2 } } = error                                     ;
    return { ...verdict, ...found, reason: String(reason) };
  }
};

const STATUS = ['Intact', 'Altered', 'Malformed', 'Incomplete'];
const NO_KEY = 'The key was not checked: anybody can have made this file.';

/** The verdict in sentences, for people. */
export const verdictText = (verdict         )         => {
  const { status, reason = '', line, owner, records, position } = verdict;
  const whole = `${records} records of ${owner}, nothing altered or missing up to position ${position}`;
  const found = line === undefined ? reason : `line ${line}: ${reason}`;
  const signed = verdict.signedBy.map(({ key, size }) => `Signed up to ${size} events with ${key}`);
  const lines = [`${STATUS[status]}: ${status === 0 ? whole : found}.`, ...signed];
  return (verdict.isKeyChecked ? lines : [NO_KEY, ...lines]).join('\n');
};

/** Run as a program: `node verifier.js FILE --key KEY`; the exit status is that of the verdict. */
const [, program = '', file = '', ...options] = globalThis.process?.argv ?? [];
if (/verifier\.[jt]s$/.test(program)) {
  const keys = options.filter((_option, place) => options[place - 1] === '--key');
  const { createReadStream } = process.getBuiltinModule('node:fs');
  void verifyExport(createReadStream(file), { keys }).then((verdict) => {
    process.exitCode = verdict.status;
    return process.stdout.write(`${verdictText(verdict)}\n`);
  });
}
