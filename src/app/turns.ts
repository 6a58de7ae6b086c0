/** A few milliseconds' worth of what is asked for here. */
const ITEMS_IN_TURN = 500;

/** Resolves when the event loop has come round: what waited for it has had its turn. */
export const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Calls `act` with each item, and lets the requests of others have their turn in between. */
export const inTurns = async <Item>(
  items: Iterable<Item>,
  act: (item: Item) => void,
): Promise<void> => {
  let done = 0;
  for (const item of items) {
    act(item);
    done += 1;
    if (done % ITEMS_IN_TURN === 0) await turn();
  }
};
