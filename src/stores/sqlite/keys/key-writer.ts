/** Writes keys to the disk: those of one turn in one commit, those that arrive meanwhile in the next. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CommitResult, Records } from '#src/stores/sqlite/log/committer.ts';
import type { Commits } from '#src/stores/sqlite/log/commits.ts';

type Waiting = { records: Records; resolve(result: CommitResult): void };

const CLOSED: CommitResult = {
  kind: 'failed',
  failure: 'fault',
  committing: false,
  text: 'the key vault is closed',
};

export class KeyWriter {
  readonly #start: () => Commits;
  #commits: Commits;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #isClosing = false;

  /** `start` opens the file's writer, and a new one after each fault. */
  constructor(start: () => Commits) {
    this.#start = start;
    this.#commits = start();
  }

  /** `wrapped` null destroys the subject's key. */
  write(subject: string, wrapped: Uint8Array | null): Promise<CommitResult> {
    return this.#request([subject, wrapped]);
  }

  /** Removes every byte of the keys that were destroyed before. */
  scrub(): Promise<CommitResult> {
    return this.#request([]);
  }

  /** Resolves when all waiting calls are answered and the file is closed. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#running;
    await this.#commits.close();
  }

  #request(records: Records): Promise<CommitResult> {
    if (this.#isClosing) return Promise.resolve(CLOSED);
    this.#running ??= this.#run();
    return new Promise((resolve) => {
      this.#waiting.push({ records, resolve });
    });
  }

  async #run(): Promise<void> {
    await nextTurn();
    while (this.#waiting.length > 0) {
      const { writes = [], scrubs = [] } = Object.groupBy(this.#waiting, ({ records }) =>
        records.length > 0 ? 'writes' : 'scrubs',
      );
      this.#waiting = [];
      await this.#settle(writes, (commits) =>
        commits.commit(writes.flatMap(({ records }) => records)),
      );
      await this.#settle(scrubs, (commits) => commits.scrub());
    }
    this.#running = undefined;
  }

  async #settle(
    batch: readonly Waiting[],
    act: (commits: Commits) => Promise<CommitResult>,
  ): Promise<void> {
    if (batch.length === 0) return;
    const result = await act(this.#commits);
    if (result.kind === 'failed' && result.failure === 'fault') {
      await this.#commits.close();
      this.#commits = this.#start();
    }
    for (const { resolve } of batch) resolve(result);
  }
}
