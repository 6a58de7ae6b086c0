/** What a test asks the server to do wrong. */

/** Of one append, before or after it is written. */
export type AppendFault =
  /** Neither written nor answered. */
  | { do: 'swallow' }
  /** Written, not answered. */
  | { do: 'forget' }
  /** Written; the answer waits for `releaseAnswers`. */
  | { do: 'withhold' }
  /** Written, answered twice. */
  | { do: 'duplicate' }
  /** The stream of appends ends in order, before or after it is written. */
  | { do: 'end'; written: boolean }
  /** The stream of appends breaks. */
  | { do: 'break'; written: boolean }
  /** The process is gone, before or after it is written. */
  | { do: 'die'; written: boolean }
  /** Not written, answered in these words, without a type. */
  | { do: 'tell'; text: string }
  /** Answered as if it had come too late, written or not. */
  | { do: 'timeout'; written: boolean }
  /** Not written, answered as a conflict, whatever is in the stream. */
  | { do: 'wrong' }
  /** Written, answered without its position. */
  | { do: 'noPosition' }
  /** Not written, and the leader is elsewhere. */
  | { do: 'notLeader'; port: number }
  | { do: 'deny' };

export type ReadFault =
  | { do: 'swallow' }
  | { do: 'unavailable' }
  | { do: 'deny' }
  | { do: 'notLeader'; port: number };

export type SubscribeFault =
  /** Accepted, and nothing more is heard. */
  | { do: 'silent' }
  | { do: 'unavailable' }
  | { do: 'noPlace' }
  /** Begins with the record it should begin after. */
  | { do: 'inclusive' }
  /** Tells of a checkpoint that no number can hold. */
  | { do: 'absurd' }
  /** Breaks after so many events. */
  | { do: 'break'; after: number };

/** Of one deletion, before or after it is done. */
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

/** How many times each fault is to happen yet, in order. */
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
