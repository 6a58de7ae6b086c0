import type { FoldEvent, Position, SubscriptionItem } from '#src/ports/event-log.ts';

/** What came in since the last look. */
export type Mail = { events: FoldEvent[]; position: Position; caughtUp: boolean };

/**
 * Reads a subscription ahead of its folder, so that whatever arrives during a fold is one batch
 * for the next: a slow store gets fewer and larger commits, never a queue.
 */
export type Mailbox = {
  /** The next mail; empty after a poke; undefined when the subscription has ended. */
  take(): Promise<Mail | undefined>;
  /** Wakes the folder without an event. */
  poke(): void;
  /** Nobody will take any more. */
  close(): void;
};

export const mailbox = (items: AsyncIterable<SubscriptionItem>, eventsMax: number): Mailbox => {
  let mail: Mail = { events: [], position: 0, caughtUp: false };
  let poked = false;
  let ended = false;
  let closed = false;
  let failure: { error: unknown } | undefined;
  let wakeFolder = () => {};
  let wakeReader = () => {};

  const put = (item: SubscriptionItem): void => {
    if (item.kind === 'events') {
      // The first batch is handed on as it came; only what joins it is copied.
      if (mail.events.length === 0) mail.events = item.events;
      else mail.events = mail.events.concat(item.events);
      mail.position = Math.max(mail.position, item.events.at(-1)?.position ?? 0);
      mail.caughtUp = false;
      return;
    }
    mail.position = Math.max(mail.position, item.position);
    mail.caughtUp = item.kind === 'caughtUp' || mail.caughtUp;
  };

  const read = async (): Promise<void> => {
    for await (const item of items) {
      put(item);
      wakeFolder();
      while (mail.events.length >= eventsMax && !closed)
        await new Promise<void>((wake) => (wakeReader = wake));
      if (closed) return;
    }
  };
  read()
    .catch((error: unknown) => (failure = { error }))
    .finally(() => {
      ended = true;
      wakeFolder();
    });

  const hasMail = (): boolean => mail.caughtUp || mail.position > 0;

  return {
    async take() {
      while (!hasMail() && !poked && !ended) await new Promise<void>((wake) => (wakeFolder = wake));
      // Pokes do not end: a folder for whom each look takes longer than their pause ends here.
      if (ended && !hasMail()) {
        if (failure) throw failure.error;
        return undefined;
      }
      const taken = mail;
      mail = { events: [], position: 0, caughtUp: false };
      poked = false;
      wakeReader();
      return taken;
    },
    poke() {
      poked = true;
      wakeFolder();
    },
    close() {
      closed = true;
      wakeReader();
    },
  };
};
