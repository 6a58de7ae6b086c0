/**
 * What one request may hold the others up for. Ordinary ones are done by then, without a turn in
 * which their like would begin the same work.
 */
const TURN_MS = 5;
const ITEMS_BETWEEN_LOOKS = 100;

/** Resolves when the event loop has come round: what waited for it has had its turn. */
export const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Calls `act` with each item; where that takes long, the requests of others have their turn in between. */
export const inTurns = async <Item>(
  items: Iterable<Item>,
  act: (item: Item) => void,
): Promise<void> => {
  let began = performance.now();
  let done = 0;
  for (const item of items) {
    act(item);
    done += 1;
    if (done % ITEMS_BETWEEN_LOOKS > 0 || performance.now() - began < TURN_MS) continue;
    await turn();
    began = performance.now();
  }
};
