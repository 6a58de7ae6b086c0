/** Builds the tree again from a log, and compares it with what was published of it. */
import {
  type EventLog,
  LogCorrupted,
  type Position,
  type StoredEvent,
} from '#src/ports/event-log.ts';
import type { ProofStore } from '#src/ports/proof-store.ts';
import { leafHash } from './merkle.ts';
import { openNote, readCheckpoint } from './note.ts';
import { KEYS, leafText, LogTree, NOTARY } from './tree.ts';

export type TreeFault = { position: Position; reason: string };

/** How many leaves were compared with published ones, and the first that differs. */
export type TreeCheck = { leaves: number; fault: TreeFault | null };

const PAGE_EVENTS = 1_000;

const eventsOf = async function* (log: Pick<EventLog, 'readAll'>): AsyncGenerator<StoredEvent> {
  for (let after = 0; ; ) {
    const page = await log.readAll({ after, limit: PAGE_EVENTS });
    yield* page;
    const last = page.at(-1);
    if (!last) return;
    after = last.position;
  }
};

/** Compares each event with its published leaf. */
const compareLeaves = async (
  log: Pick<EventLog, 'readAll'>,
  published: ProofStore,
): Promise<TreeCheck> => {
  const { size } = published.progress();
  const heads = new Map<string, { sequence: number; previous: string }>();
  let [index, position] = [0, 0];
  for await (const event of eventsOf(log)) {
    if (index === size) break;
    const { owner } = event;
    if (owner === KEYS) continue;
    position = event.position;
    if (owner !== NOTARY) {
      const { sequence = 0, previous = '' } = heads.get(owner) ?? {};
      const leaf = leafHash(leafText(event, { sequence: sequence + 1, previous }));
      if (!leaf.equals(published.leaf(index))) {
        const reason = `${event.type} of ${event.stream}, revision ${event.revision}, is not the event that was written there`;
        return { leaves: index, fault: { position, reason } };
      }
      heads.set(owner, { sequence: sequence + 1, previous: leaf.toString('base64') });
    }
    index += 1;
  }
  const reason = `${size} leaves were published, and the log has ${index}: its end is missing`;
  return { leaves: index, fault: index < size ? { position, reason } : null };
};

type Against = {
  /** Of the service whose log this is; absent in a copy of the log alone. */
  published: ProofStore | undefined;
  /** Empty; gets the tree of the log. */
  scratch: ProofStore;
  /** A checkpoint that was kept. */
  kept: string | undefined;
};

/**
 * Builds the tree of a log again. Compares each leaf with those that were published, the root of each mark with what the next
 * mark says, and the tree with a checkpoint that was kept. Throws LogUnavailable.
 */
export const checkTree = async (
  log: Pick<EventLog, 'readAll' | 'readBack'>,
  { published, scratch, kept }: Against,
): Promise<TreeCheck> => {
  const compared = published ? await compareLeaves(log, published) : { leaves: 0, fault: null };
  if (compared.fault) return compared;
  const tree = new LogTree(log, scratch);
  try {
    await tree.advance();
  } catch (error) {
    if (!(error instanceof LogCorrupted)) throw error;
    return { leaves: 0, fault: { position: scratch.progress().position, reason: error.message } };
  }
  if (kept === undefined) return compared;
  const { size = 0, root } = readCheckpoint(openNote(kept, [])?.text ?? '') ?? {};
  const isSame = root !== undefined && size <= tree.size && tree.rootAt(size).equals(root);
  const position = tree.markAt(size)?.position ?? 0;
  const reason = `the log does not have the tree of ${size} of the checkpoint that was kept`;
  return isSame
    ? { leaves: Math.max(size, compared.leaves), fault: null }
    : { leaves: 0, fault: { position, reason } };
};
