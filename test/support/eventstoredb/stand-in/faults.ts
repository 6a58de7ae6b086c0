/** Faults that a test can request. */

/** Faults of one append, before or after it is written. */
export type AppendFault =
  /** Neither written nor answered. */
  | { do: 'swallow' }
  /** Written, not answered. */
  | { do: 'forget' }
  /** Written; answered after `releaseAnswers`. */
  | { do: 'withhold' }
  /** Written, answered twice. */
  | { do: 'duplicate' }
  /** The stream of appends ends normally, before or after the write. */
  | { do: 'end'; written: boolean }
  /** The stream of appends breaks. */
  | { do: 'break'; written: boolean }
  /** The process is killed, before or after the write. */
  | { do: 'die'; written: boolean }
  /** Not written; answered with this text and no error type. */
  | { do: 'tell'; text: string }
  /** Answered with a timeout, written or not. */
  | { do: 'timeout'; written: boolean }
  /** Not written, answered as a conflict, whatever is in the stream. */
  | { do: 'wrong' }
  /** Written, answered without its position. */
  | { do: 'noPosition' }
  /** Not written; the answer names another leader. */
  | { do: 'notLeader'; port: number }
  | { do: 'deny' };

export type ReadFault =
  | { do: 'swallow' }
  | { do: 'unavailable' }
  | { do: 'deny' }
  | { do: 'notLeader'; port: number };

export type SubscribeFault =
  /** Accepted; the server then sends nothing. */
  | { do: 'silent' }
  | { do: 'unavailable' }
  | { do: 'noPlace' }
  /** Starts with the record that it should start after. */
  | { do: 'inclusive' }
  /** Sends a checkpoint above the safe integers. */
  | { do: 'absurd' }
  /** Breaks after this many events. */
  | { do: 'break'; after: number };

/** Faults of one deletion, before or after it is done. */
export type RemoveFault =
  | { do: 'swallow' }
  /** Done, not answered. */
  | { do: 'forget' }
  | { do: 'unavailable' };

export type Faults = {
  append: AppendFault;
  read: ReadFault;
  subscribe: SubscribeFault;
  remove: RemoveFault;
};

/** The requested faults in order, each with the number of times left. */
export const faultQueue = () => {
  const queues: { [K in keyof Faults]: { fault: Faults[K]; times: number }[] } = {
    append: [],
    read: [],
    subscribe: [],
    remove: [],
  };
  return {
    add<K extends keyof Faults>(on: K, fault: Faults[K], times = 1): void {
      queues[on].push({ fault, times });
    },
    next<K extends keyof Faults>(on: K): Faults[K] | undefined {
      const [first] = queues[on];
      if (!first) return undefined;
      first.times -= 1;
      if (first.times <= 0) queues[on].shift();
      return first.fault;
    },
    clear(): void {
      for (const queue of Object.values(queues)) queue.length = 0;
    },
  };
};
