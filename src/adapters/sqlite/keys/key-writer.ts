/** Keys on their way to the disk: those of a turn in one commit, those that come meanwhile in the next. */
import { setImmediate as turn } from 'node:timers/promises';
import type { CommitResult, Records } from '../log/committer.ts';
import type { Commits } from '../log/commits.ts';

type Waiting = { records: Records; resolve(result: CommitResult): void };

const CLOSED: CommitResult = {
  kind: 'failed',
  failure: 'fault',
  committing: false,
  text: 'the key vault is closed',
};

/** `start` gives the file's writer, and another one after a fault. */
export const keyWriter = (start: () => Commits) => {
  let commits = start();
  let waiting: Waiting[] = [];
  let running: Promise<void> | undefined;
  let closing = false;

  const settle = async (
    batch: readonly Waiting[],
    ask: (records: Records) => Promise<CommitResult>,
  ): Promise<void> => {
    if (batch.length === 0) return;
    const result = await ask(batch.flatMap(({ records }) => records));
    if (result.kind === 'failed' && result.failure === 'fault') {
      await commits.close();
      commits = start();
    }
    for (const { resolve } of batch) resolve(result);
  };
  const run = async (): Promise<void> => {
    await turn();
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      await settle(
        batch.filter(({ records }) => records.length > 0),
        (records) => commits.commit(records),
      );
      await settle(
        batch.filter(({ records }) => records.length === 0),
        () => commits.scrub(),
      );
    }
    running = undefined;
  };
  const ask = (records: Records): Promise<CommitResult> => {
    if (closing) return Promise.resolve(CLOSED);
    running ??= run();
    return new Promise((resolve) => {
      waiting.push({ records, resolve });
    });
  };

  return {
    /** `wrapped` null destroys the subject's key. */
    write: (subject: string, wrapped: Uint8Array | null) => ask([subject, wrapped]),
    /** After it no byte is left of what was destroyed before. */
    scrub: () => ask([]),
    /** Resolves when those who wait are answered and the file is let go. */
    async close(): Promise<void> {
      closing = true;
      await running;
      await commits.close();
    },
  };
};
