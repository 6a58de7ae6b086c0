export type Semaphore = <T>(run: () => Promise<T>) => Promise<T>;

/** A FIFO semaphore: runs at most `limit` calls at once. */
export const semaphore = (limit: number): Semaphore => {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (run) => {
    if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await run();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
};
