/** Counts what the stores of rows do. */
import type { Metrics, RoundTrip } from '#src/ports/metrics.ts';
import type { RemoteStore } from '#src/ports/read-model.ts';

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
