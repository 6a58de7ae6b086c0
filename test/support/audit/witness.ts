/** A witness in memory, and how a notary asks it. */
import { newWitnessKey, openSigner, openVerifier } from '#src/proof/note.ts';
import { addCheckpoint, type PostText } from '#src/proof/witnesses.ts';
import { SIGNERS } from './notary.ts';

export const witnessOf = (name = 'witness.example') => {
  const kept = new Map<string, string>();
  const memory = {
    load: (origin: string) => kept.get(origin),
    save: (origin: string, note: string) => void kept.set(origin, note),
  };
  const signer = openSigner(newWitnessKey(name));
  const deps = { signer, logs: SIGNERS, memory, now: Date.now };
  const post: PostText = async (_url, body) => addCheckpoint(deps, body);
  return {
    deps,
    post,
    witness: { url: 'https://witness.example', key: openVerifier(signer.text) },
  };
};
