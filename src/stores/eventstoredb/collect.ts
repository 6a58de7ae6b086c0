import { noAnswer } from './failures.ts';

type Cancellable = Pick<NodeJS.EventEmitter, 'on'> & { cancel(): unknown };

/** Collects the items of a read. Rejects after `idleMs` of silence, because reads have no deadline. */
export const collect = <Item>(
  opening: Cancellable | Promise<Cancellable>,
  idleMs: number,
): Promise<Item[]> =>
  new Promise((resolve, reject) => {
    const items: Item[] = [];
    // A cancelled read ends as if it were complete.
    let isCancelled = false;
    const settle = (finish: () => void): void => {
      if (isCancelled) return;
      clearTimeout(timer);
      finish();
    };
    const fail = (error: Error): void => settle(() => reject(error));
    const timer = setTimeout(() => {
      isCancelled = true;
      void Promise.resolve(opening).then(cancel, () => {});
      // The client frees the call's slot one turn later; rejecting before would exceed the limit.
      setImmediate(() => setImmediate(reject, noAnswer(idleMs)));
    }, idleMs);
    const follow = (stream: Cancellable): void => {
      stream.on('data', (item: Item) => {
        if (isCancelled) return;
        timer.refresh();
        items.push(item);
      });
      stream.on('error', fail);
      stream.on('end', () => settle(() => resolve(items)));
    };
    Promise.resolve(opening).then(follow, fail);
  });

const cancel = (stream: Cancellable): void => {
  stream.on('error', () => {});
  void Promise.resolve(stream.cancel()).catch(() => {});
};
