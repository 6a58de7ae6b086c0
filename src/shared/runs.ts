/** Number of runs whose results are stored; asking for an older one starts it again. */
const RUNS_MAX = 50;

type RunState = { done: boolean; failure?: string };

/**
 * Returns a function that starts a named run of long work on `name`, or answers how far it is when it was started before.
 * A run that starts while another one on the same name is active shares its state.
 */
export const runs = <State extends RunState>(
  initial: () => State,
  work: (name: string, state: State) => Promise<void>,
): ((name: string, run: string) => State) => {
  const byRun = new Map<string, State>();
  const active = new Map<string, State>();
  return (name, run) => {
    const id = `${name}/${run}`;
    const existing = byRun.get(id);
    if (existing) return existing;
    for (const oldest of byRun.keys()) {
      if (byRun.size < RUNS_MAX) break;
      byRun.delete(oldest);
    }
    const running = active.get(name);
    const state = running ?? initial();
    byRun.set(id, state);
    if (running) return state;
    active.set(name, state);
    work(name, state)
      .catch((error: unknown) => {
        state.failure = error instanceof Error ? error.message : String(error);
      })
      .finally(() => {
        state.done = true;
        active.delete(name);
      });
    return state;
  };
};
