/** Opens the tree of the log and the keys of the notary. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '#src/config.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { NotAKey, openSigner, openVerifier, signerOf } from '#src/proof/note.ts';
import type { ProofDeps } from '#src/proof/notary.ts';
import { type PostText, type Witness, Witnesses } from '#src/proof/witnesses.ts';
import { LogTree } from '#src/proof/tree.ts';
import { sqliteProofStore } from '#src/stores/sqlite/proof-store.ts';
import type { SystemSecrets } from '#src/system/secrets.ts';

/** Reads keys from a file: the newest one first, one a line. Throws StartupError. */
const readKeys = (path: string): ProofDeps['signers'] => {
  try {
    const [first, ...others] = readFileSync(path, 'utf8').trim().split('\n').map(openSigner);
    if (first) return [first, ...others];
    throw new NotAKey('the file is empty');
  } catch (error) {
    const isOurs =
      error instanceof NotAKey || (error as { syscall?: string }).syscall !== undefined;
    if (!isOurs) throw error;
    throw new StartupError(`NOTARY_KEY cannot be used: ${path}: ${(error as Error).message}.`);
  }
};

/** Throws StartupError. */
const openWitness = ({ url, key }: Config['witnesses'][number]): Witness => {
  try {
    return { url, key: openVerifier(key) };
  } catch (error) {
    if (!(error instanceof NotAKey)) throw error;
    throw new StartupError(`WITNESSES cannot be used: ${key}: ${error.message}.`);
  }
};

const WITNESS_MS = 10_000;

/** The settings name whom this asks, so private addresses are allowed. */
const postText: PostText = async (url, body, signal) => {
  const within = AbortSignal.any([signal, AbortSignal.timeout(WITNESS_MS)]);
  const answer = await fetch(url, { method: 'POST', body, redirect: 'error', signal: within });
  return { status: answer.status, body: await answer.text() };
};

type Parts = {
  log: EventLog;
  secrets: Pick<SystemSecrets, 'notarySeed'>;
  parts: AsyncDisposableStack;
};

/**
 * Opens what proofs need: the keys at once, the tree at its first use, because a process that proves nothing has none. Without
 * NOTARY_KEY the key is one of the keyring, so all processes of a log have the same. Throws StartupError.
 */
export const openProof = (
  { notaryKey, witnesses, dataDirectory }: Config,
  { log, secrets, parts }: Parts,
): (() => ProofDeps & { witnesses: Witnesses }) => {
  const signers: ProofDeps['signers'] = notaryKey
    ? readKeys(notaryKey)
    : [signerOf(`tributary/${log.id}`, secrets.notarySeed)];
  const cosigning = witnesses.map(openWitness);
  let opened: (ProofDeps & { witnesses: Witnesses }) | undefined;
  return () => {
    if (opened) return opened;
    const store = sqliteProofStore(join(dataDirectory, 'proof.db'));
    parts.defer(() => store.close());
    const asked = new Witnesses(cosigning, { post: postText, store });
    opened = { log, tree: new LogTree(log, store), signers, witnesses: asked };
    return opened;
  };
};
