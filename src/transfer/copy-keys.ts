/** Copies the keys of personal data between vaults. */
import type { EventLog, Position, StoredEvent } from '#src/ports/event-log.ts';
import type { MovableKeys } from '#src/ports/system.ts';

export type CopiedKeys = {
  /** Subjects of the log that have or had a key. */
  subjects: number;
  /** Those of them that are erased, in the copy as well. */
  destroyed: number;
  /** Subjects whose key differs in the target, which was not changed. */
  differing: string[];
};

/** Events that first name a subject whose key seals texts, and the member that names it. */
const SUBJECTS: {
  readonly [type: string]: 'lead_id' | 'handoff_id' | 'application_id' | 'sealed_for';
} = {
  LeadSubmitted: 'lead_id',
  HandoffCreated: 'handoff_id',
  BuyerListCreated: 'handoff_id',
  PushConfigCreated: 'sealed_for',
  MailQueued: 'sealed_for',
  OwnerProfileSet: 'sealed_for',
  ApplicationReceived: 'application_id',
  PersonInvited: 'sealed_for',
  PersonRecognized: 'sealed_for',
};
const PAGE_EVENTS = 500;

type Log = Pick<EventLog, 'readAll'>;

/** Reads the events of these types page by page. */
const pagesOf = async function* (
  log: Log,
  types: readonly string[],
): AsyncGenerator<readonly StoredEvent[]> {
  for (let after: Position | undefined = 0; after !== undefined; ) {
    const page: readonly StoredEvent[] = await log.readAll({ after, limit: PAGE_EVENTS, types });
    if (page.length > 0) yield page;
    after = page.at(-1)?.position;
  }
};

const erasedIn = async (log: Log): Promise<ReadonlySet<string>> => {
  const erased = new Set<string>();
  for await (const page of pagesOf(log, ['SubjectErased']))
    for (const { data } of page) erased.add((data as { subject: string }).subject);
  return erased;
};

/**
 * Copies the key of every subject of `log`, and destroys the keys whose erasure the log records. A
 * repeated run continues, and destroys what was erased meanwhile. Throws what log and vaults throw.
 */
export const copyKeys = async (
  log: Log,
  { from, to }: { from: Pick<MovableKeys, 'keyOf'>; to: MovableKeys },
  onProgress?: (position: Position) => void,
): Promise<CopiedKeys> => {
  const copied: CopiedKeys = { subjects: 0, destroyed: 0, differing: [] };
  const erased = await erasedIn(log);
  const move = async (subject: string): Promise<void> => {
    const key = erased.has(subject) ? 'destroyed' : await from.keyOf(subject);
    if (key === 'never') return;
    copied.subjects += 1;
    if (key === 'destroyed') copied.destroyed += 1;
    if (!(await to.adopt(subject, key))) copied.differing.push(subject);
  };
  for await (const page of pagesOf(log, Object.keys(SUBJECTS))) {
    const subjects = page.map(({ type, data }) => {
      const member = SUBJECTS[type];
      return member && (data as Record<string, string | undefined>)[member];
    });
    await Promise.all(
      [...new Set(subjects)].flatMap((subject) => (subject ? [move(subject)] : [])),
    );
    onProgress?.(page.at(-1)?.position ?? 0);
  }
  return copied;
};
