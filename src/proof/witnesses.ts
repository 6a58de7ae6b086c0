/**
 * Witnesses: other parties who cosign the checkpoints of a log, and refuse one that does not continue what they cosigned
 * before (C2SP tlog-witness). A notary asks them; `tributary witness` is one.
 */
import { hash } from 'node:crypto';
import { checkpointOf, type ProofDeps } from './notary.ts';
import { openNote, readCheckpoint, signatureLine, type Signer, type Verifier } from './note.ts';
import { isConsistent } from './verifier.ts';

/** A witness that the settings name. */
export type Witness = { url: string; key: Verifier };

export type WitnessAnswer = { status: number; body: string; type?: string };

/** Posts a text. Throws if nobody answers in time. */
export type PostText = (url: string, body: string, signal: AbortSignal) => Promise<WitnessAnswer>;

const OK = 200;
const CONFLICT = 409;

/** A witness did not cosign. */
export class NotCosigned extends Error {
  override readonly name = 'NotCosigned';
}

/** Asks a witness to cosign the newest checkpoint. `old`: the size of the tree that it cosigned last. */
const askWitness = async (
  deps: ProofDeps,
  { url, key }: Witness,
  { old, post, signal }: { old: number; post: PostText; signal: AbortSignal },
): Promise<Cosigned | { old: number } | undefined> => {
  const { tree } = deps;
  const { newest } = tree;
  if (!newest || newest.size === old) return undefined;
  if (old > newest.size)
    throw new NotCosigned(
      `${key.name} cosigned a tree of ${old} events, and the log has ${newest.size}: the log lost its end, or this is another log`,
    );
  const note = checkpointOf(deps, newest);
  const proof = tree.consistency(old, newest.size).map((one) => `${one.toString('base64')}\n`);
  const body = `old ${old}\n${proof.join('')}\n${note}`;
  const answer = await post(`${url}/add-checkpoint`, body, signal);
  if (answer.status === CONFLICT && /^\d{1,15}\n$/.test(answer.body))
    return { old: Number(answer.body) };
  const opened = answer.status === OK ? openNote(note + answer.body, [key]) : undefined;
  const [signed] = opened?.signed ?? [];
  if (signed) return { old: newest.size, note: note + signed.line };
  throw new NotCosigned(
    answer.status === OK
      ? `the answer of ${key.name} has no signature of its key that fits`
      : `${key.name} refused the checkpoint of ${newest.size} events with status ${answer.status}: ${answer.body.slice(0, 200)}`,
  );
};

/** `note`: a checkpoint with the signature of the witness; `old`: its size. */
type Cosigned = { old: number; note: string };

/** The witnesses of a notary, and the newest checkpoint that each cosigned. */
export class Witnesses {
  readonly all: readonly Witness[];
  readonly #post: PostText;
  readonly #last = new Map<Witness, { old: number; note?: string }>();

  constructor(all: readonly Witness[], post: PostText) {
    this.all = all;
    this.#post = post;
  }

  /** Asks each witness once. None stops another one, or the notary; `onFault` gets what went wrong. */
  async ask(
    deps: ProofDeps,
    signal: AbortSignal,
    onFault: (error: unknown) => void,
  ): Promise<void> {
    const post = this.#post;
    const askOne = async (witness: Witness): Promise<void> => {
      const { old = 0, ...before } = this.#last.get(witness) ?? {};
      const found = await askWitness(deps, witness, { old, post, signal });
      if (found) this.#last.set(witness, { ...before, ...found });
    };
    const asked = await Promise.allSettled(this.all.map(askOne));
    for (const result of asked) if (result.status === 'rejected') onFault(result.reason);
  }

  /** The newest checkpoint that a witness cosigned, with the signatures of all that cosigned the same one. */
  newest(): { size: number; note: string } | undefined {
    const notes = [...this.#last.values()].filter(
      (last): last is Cosigned => last.note !== undefined,
    );
    const size = Math.max(...notes.map(({ old }) => old));
    const [first, ...others] = notes.filter(({ old }) => old === size).map(({ note }) => note);
    if (first === undefined) return undefined;
    const lines = others.map((note) => note.slice(note.trimEnd().lastIndexOf('\n') + 1));
    return { size, note: first + lines.join('') };
  }
}

/** What a witness keeps: the newest checkpoint that it cosigned of each origin. `save` is durable when it returns. */
export type WitnessMemory = {
  load(origin: string): string | undefined;
  save(origin: string, note: string): void;
};

type WitnessDeps = {
  signer: Signer;
  /** Of the notaries whose checkpoints it cosigns. */
  logs: readonly Verifier[];
  memory: WitnessMemory;
  now(): number;
};

const PROOF_LINES_MAX = 63;
const MS = 1_000;
const refusal = (status: number, body: string): WitnessAnswer => ({ status, body: `${body}\n` });

/** Answers `add-checkpoint`. Checks and stores without a pause, so that no other request comes between. */
export const addCheckpoint = (
  { signer, logs, memory, now }: WitnessDeps,
  body: string,
): WitnessAnswer => {
  const [, size = '', lines = '', note = ''] =
    /^old (0|[1-9]\d{0,14})\n((?:[A-Za-z0-9+/]{43}=\n)*)\n([^]+)$/.exec(body) ?? [];
  const proof = lines.split('\n').slice(0, -1);
  const next = readCheckpoint(note.slice(0, note.indexOf('\n\n') + 1));
  if (!next || proof.length > PROOF_LINES_MAX)
    return refusal(400, 'This is no request of add-checkpoint.');
  const keys = logs.filter(({ name }) => name === next.origin);
  if (keys.length === 0) return refusal(404, `This witness does not know the log ${next.origin}.`);
  const opened = openNote(note, keys);
  if (!opened || opened.signed.length === 0)
    return refusal(403, 'No known key of the log signed this checkpoint.');
  const old = Number(size);
  if (old > next.size) return refusal(400, 'The old size is larger than the checkpoint.');
  const kept = memory.load(next.origin) ?? '';
  const known = readCheckpoint(kept.slice(0, kept.indexOf('\n\n') + 1)) ?? {
    size: 0,
    root: EMPTY_ROOT,
  };
  if (known.size !== old)
    return { status: CONFLICT, body: `${known.size}\n`, type: 'text/x.tlog.size' };
  const continues =
    old === 0 ? proof.length === 0 && next.size > 0 : isConsistent(known, next, proof);
  if (!continues)
    return refusal(422, `The checkpoint does not continue the tree of ${old} that was cosigned.`);
  const line = signatureLine(signer, opened.text, Math.floor(now() / MS));
  const own = opened.signed.map((one) => one.line).join('');
  memory.save(next.origin, `${opened.text}\n${own}${line}`);
  return { status: OK, body: line };
};

const EMPTY_ROOT = hash('sha256', '', 'buffer');
