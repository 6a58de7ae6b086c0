/** Counts what the stores of rows do, and the keys that a vault has lost. */
import type { Metrics, RoundTrip } from '#src/ports/metrics.ts';
import type { RemoteStore } from '#src/ports/read-model.ts';
import type { KeyVault } from '#src/ports/system.ts';

/** Wraps a store: counts and times its round trips. `monotonic` is in milliseconds. */
export const observedStore = (
  store: RemoteStore,
  metrics: Pick<Metrics, 'countRoundTrip'>,
  monotonic: () => number,
): RemoteStore => {
  const timed =
    <Args extends unknown[], Answer>(
      kind: RoundTrip['kind'],
      ask: (...args: Args) => Promise<Answer>,
    ) =>
    async (...args: Args): Promise<Answer> => {
      const since = monotonic();
      let outcome: RoundTrip['outcome'] = 'failed';
      try {
        const answer = await ask(...args);
        outcome = 'ok';
        return answer;
      } finally {
        metrics.countRoundTrip({ kind, outcome }, (monotonic() - since) / 1_000);
      }
    };
  return {
    ...store,
    find: timed('read', store.find),
    page: timed('read', store.page),
    load: timed('write', store.load),
    commit: timed('write', store.commit),
  };
};

/** Wraps a vault: counts the texts whose keys are lost. */
export const observedVault = (
  vault: KeyVault,
  metrics: Pick<Metrics, 'countLostKey'>,
): KeyVault => ({
  seal: (subject, text) => vault.seal(subject, text),
  async unseal(sealed) {
    const opened = await vault.unseal(sealed);
    for (const text of opened)
      if (typeof text === 'object' && text !== null) metrics.countLostKey(text.key);
    return opened;
  },
  destroy: (subject) => vault.destroy(subject),
  knows: (subject) => vault.knows(subject),
  close: () => vault.close(),
});
