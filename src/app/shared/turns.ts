/** How long one request may hold the event loop. Ordinary requests finish within one such turn. */
const TURN_MS = 5;
const ITEMS_PER_CHECK = 100;

/** Resolves after the event loop has run the callbacks that were waiting. */
export const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Calls `act` with each item, and yields to other requests after every TURN_MS. */
export const inTurns = async <Item>(
  items: Iterable<Item>,
  act: (item: Item) => void,
): Promise<void> => {
  let began = performance.now();
  let count = 0;
  for (const item of items) {
    act(item);
    count += 1;
    if (count % ITEMS_PER_CHECK > 0 || performance.now() - began < TURN_MS) continue;
    await turn();
    began = performance.now();
  }
};
