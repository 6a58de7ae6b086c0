/**
 * Rows that this process committed last, so that folding the next event of a busy row asks Redis
 * nothing. A row is lent, not shared: whoever loads it has it alone, and it comes back with the
 * commit that Redis took. The rows of a partition hold as long as its checkpoint is the one that we
 * left: only its folder can have changed them, and that is refused when it was not us.
 */
import type { Position } from '#src/ports/event-log.ts';
import type { Row } from '#src/ports/read-model.ts';

/** What is known of a partition; rows of an earlier lease are void. */
type Lease = { at: Position };

type Warm = { row: Row; lease: Lease };

export type WarmRows = {
  take(partition: string, field: string): Row | undefined;
  /** Where the partition stood when we last heard; undefined when we never did. */
  at(partition: string): Position | undefined;
  committed(partition: string, from: Position, to: Position): (field: string, row: Row) => void;
  /** Redis says where it stands: somebody else's work voids what we have. */
  heard(partition: string, at: Position): void;
  forget(partition: string): void;
};

/** `partition` names one of one space. Two generations, as good as an LRU here and cheaper. */
export const warmRows = (rowsMax: number): WarmRows => {
  const leases = new Map<string, Lease>();
  let young = new Map<string, Warm>();
  let old = new Map<string, Warm>();

  return {
    take(partition, field) {
      const name = `${partition}\n${field}`;
      const found = young.get(name) ?? old.get(name);
      if (!found) return undefined;
      young.delete(name);
      old.delete(name);
      return found.lease === leases.get(partition) ? found.row : undefined;
    },
    at: (partition) => leases.get(partition)?.at,
    committed(partition, from, to) {
      let lease = leases.get(partition);
      if (lease?.at === from) lease.at = to;
      else {
        lease = { at: to };
        leases.set(partition, lease);
      }
      const kept = lease;
      return (field, row) => {
        const name = `${partition}\n${field}`;
        old.delete(name);
        young.set(name, { row, lease: kept });
        if (young.size * 2 < rowsMax) return;
        old = young;
        young = new Map();
      };
    },
    heard(partition, at) {
      if (leases.get(partition)?.at !== at) leases.set(partition, { at });
    },
    forget: (partition) => void leases.delete(partition),
  };
};
