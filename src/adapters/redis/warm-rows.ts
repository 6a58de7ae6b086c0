/**
 * Rows that this process committed last, so that folding the next event of a busy row asks Redis
 * nothing. A row is lent, not shared: whoever loads it has it alone, and it comes back with the
 * commit that Redis took. The rows of a partition hold as long as its checkpoint is the one that we
 * left: only its folder can have changed them, and that is refused when it was not us.
 */
import type { Position } from '#src/ports/event-log.ts';
import type { Row } from '#src/ports/read-model.ts';

/** What is known of a partition; rows of an earlier lease are void. */
type Lease = { at: Position; young: Map<string, Row>; old: Map<string, Row> };

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
  /** Rows in the young generation of all partitions. */
  let young = 0;

  const age = (): void => {
    young = 0;
    for (const lease of leases.values()) {
      lease.old = lease.young;
      lease.young = new Map();
    }
  };

  const forget = (partition: string): void => {
    young -= leases.get(partition)?.young.size ?? 0;
    leases.delete(partition);
  };

  const begin = (partition: string, at: Position): Lease => {
    forget(partition);
    const lease = { at, young: new Map(), old: new Map() };
    leases.set(partition, lease);
    return lease;
  };

  return {
    take(partition, field) {
      const lease = leases.get(partition);
      const row = lease?.young.get(field) ?? lease?.old.get(field);
      if (!lease || !row) return undefined;
      if (lease.young.delete(field)) young -= 1;
      else lease.old.delete(field);
      return row;
    },
    at: (partition) => leases.get(partition)?.at,
    committed(partition, from, to) {
      const known = leases.get(partition);
      const lease = known?.at === from ? known : begin(partition, to);
      lease.at = to;
      return (field, row) => {
        lease.old.delete(field);
        const before = lease.young.size;
        lease.young.set(field, row);
        young += lease.young.size - before;
        if (young * 2 >= rowsMax) age();
      };
    },
    heard(partition, at) {
      if (leases.get(partition)?.at !== at) begin(partition, at);
    },
    forget,
  };
};
