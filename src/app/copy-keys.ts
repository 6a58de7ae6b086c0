/** Keys of personal data move house beside the log that needs them. */
import type { EventLog, Position } from '#src/ports/event-log.ts';
import type { MovableKeys } from '#src/ports/system.ts';

export type CopiedKeys = {
  /** Subjects that the log names and that have a key, or had one. */
  subjects: number;
  /** Of these, erased ones: so they are in the copy, too. */
  destroyed: number;
  /** Subjects that stand otherwise in the target, and were left as they are there. */
  differing: string[];
};

/** What begins a stream of personal data names its subject. */
const SUBJECTS: { readonly [type: string]: 'lead_id' | 'handoff_id' } = {
  LeadSubmitted: 'lead_id',
  HandoffCreated: 'handoff_id',
};
const PAGE_EVENTS = 500;

/**
 * Every subject of `log` has in `to` the key that it has in `from`. Again, it goes on to make it so:
 * what was erased meanwhile is erased in the copy. Throws what log and vaults throw.
 */
export const copyKeys = async (
  log: Pick<EventLog, 'readAll'>,
  { from, to }: { from: Pick<MovableKeys, 'keyOf'>; to: MovableKeys },
  onProgress?: (position: Position) => void,
): Promise<CopiedKeys> => {
  const copied: CopiedKeys = { subjects: 0, destroyed: 0, differing: [] };
  const move = async (subject: string): Promise<void> => {
    const key = await from.keyOf(subject);
    if (key === 'never') return;
    copied.subjects += 1;
    if (key === 'destroyed') copied.destroyed += 1;
    if (!(await to.adopt(subject, key))) copied.differing.push(subject);
  };
  for (let after = 0; ; ) {
    const page = await log.readAll({ after, limit: PAGE_EVENTS, types: Object.keys(SUBJECTS) });
    const last = page.at(-1);
    if (!last) return copied;
    const subjects = page.map(({ type, data }) => {
      const member = SUBJECTS[type];
      return member && (data as Record<string, string>)[member];
    });
    await Promise.all(
      [...new Set(subjects)].flatMap((subject) => (subject ? [move(subject)] : [])),
    );
    after = last.position;
    onProgress?.(after);
  }
};
