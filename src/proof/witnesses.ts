/**
 * Witnesses: other parties who cosign the checkpoints of a log, and refuse one that does not continue what they cosigned
 * before (C2SP tlog-witness). A notary asks them; `tributary witness` is one.
 */
import { hash } from 'node:crypto';
import type { Cosigned, ProofStore } from '#src/ports/proof-store.ts';
import type { ProofDeps } from './notary.ts';
import {
  checkpointText,
  openNote,
  readCheckpoint,
  signatureLine,
  signNote,
  type Signer,
  type Verifier,
} from './note.ts';
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

type Asking = {
  /** The size of the tree that the witness cosigned last. */
  old: number;
  size: number;
  /** Of the checkpoint of this size. */
  text: string;
  post: PostText;
  signal: AbortSignal;
};

/** Asks a witness to cosign a checkpoint. Returns what it cosigned, or the size of what it cosigned last, if that is not `old`. */
const askWitness = async (
  { tree, signers }: ProofDeps,
  { url, key }: Witness,
  { old, size, text, post, signal }: Asking,
): Promise<Cosigned | { old: number }> => {
  if (old > size)
    throw new NotCosigned(
      `${key.name} cosigned a tree of ${old} events, and the log has ${size}: the log lost its end, or this is another log`,
    );
  const note = signNote(text, signers);
  const proof = tree.consistency(old, size).map((one) => `${one.toString('base64')}\n`);
  const body = `old ${old}\n${proof.join('')}\n${note}`;
  const answer = await post(`${url}/add-checkpoint`, body, signal);
  if (answer.status === CONFLICT && /^\d{1,15}\n$/.test(answer.body))
    return { old: Number(answer.body) };
  const opened = answer.status === OK ? openNote(note + answer.body, [key]) : undefined;
  const [signed] = opened?.signed ?? [];
  if (signed) return { witness: key.text, size, text, line: signed.line };
  throw new NotCosigned(
    answer.status === OK
      ? `the answer of ${key.name} has no signature of its key that fits`
      : `${key.name} refused the checkpoint of ${size} events with status ${answer.status}: ${answer.body.slice(0, 200)}`,
  );
};

/** The witnesses of a notary, and the newest checkpoint that each cosigned, which the store keeps over restarts. */
export class Witnesses {
  readonly all: readonly Witness[];
  readonly #post: PostText;
  readonly #store: Pick<ProofStore, 'cosigned' | 'keepCosigned'>;

  constructor(
    all: readonly Witness[],
    { post, store }: { post: PostText; store: Pick<ProofStore, 'cosigned' | 'keepCosigned'> },
  ) {
    this.all = all;
    this.#post = post;
    this.#store = store;
  }

  /** Asks each witness. None stops another one, or the notary; `onFault` gets what went wrong. */
  async ask(
    deps: ProofDeps,
    signal: AbortSignal,
    onFault: (error: unknown) => void,
  ): Promise<void> {
    const asked = await Promise.allSettled(
      this.all.map((witness) => this.#askOne(deps, witness, signal)),
    );
    for (const result of asked) if (result.status === 'rejected') onFault(result.reason);
  }

  /** A witness that cosigned a later checkpoint of another process of the log says so, and is asked again at once. */
  async #askOne(deps: ProofDeps, witness: Witness, signal: AbortSignal): Promise<void> {
    const { tree, signers } = deps;
    const origin = signers[0].name;
    const last = this.#store
      .cosigned()
      .find((one) => one.witness === witness.key.text && one.text.startsWith(`${origin}\n`));
    let old = last?.size ?? 0;
    for (let attempt = 0; attempt < 2; attempt += 1) {
      // Reads what that process marked, so that the log does not seem to have lost its end.
      await tree.advance();
      const { newest } = tree;
      if (!newest) return;
      const text = checkpointText({ origin, ...newest });
      if (text === last?.text) return;
      const asking = { old, size: newest.size, text, post: this.#post, signal };
      const answer = await askWitness(deps, witness, asking);
      if ('line' in answer) return this.#store.keepCosigned(answer);
      ({ old } = answer);
    }
    throw new NotCosigned(`${witness.key.name} cosigned for others meanwhile, and is asked later`);
  }

  /** The newest checkpoint that a witness cosigned, with the signatures of all that cosigned the same one. */
  newest(): { size: number; text: string; lines: string } | undefined {
    const keys = new Set(this.all.map(({ key }) => key.text));
    const known = this.#store.cosigned().filter(({ witness }) => keys.has(witness));
    const [first] = known.toSorted((one, other) => other.size - one.size);
    if (!first) return undefined;
    const { size, text } = first;
    const lines = known.filter((one) => one.text === text).map(({ line }) => line);
    return { size, text, lines: lines.join('') };
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
