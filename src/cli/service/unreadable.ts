/** Finds personal data that was not erased but cannot be decrypted, because the vault lacks its key. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { subjectsIn } from '#src/system/crypto-seal.ts';
import { listUnknownSubjects } from '#src/stores/sqlite/keys/read-only-keys.ts';
import type { EventLog, Position } from '#src/ports/event-log.ts';
import { formatPlural } from '../terminal/output.ts';

const PAGE_EVENTS = 1_000;

/**
 * Counts the subjects that have encrypted data in the log after this position and no key in the vault.
 * Erased subjects are not counted. Returns null if there is no vault.
 */
export const unreadableSubjects = async (
  directory: string,
  log: Pick<EventLog, 'readAll'>,
  from: Position = 0,
): Promise<number | null> => {
  const file = join(directory, 'keys.db');
  if (!existsSync(file)) return null;
  const subjects = new Set<string>();
  const erased = new Set<string>();
  for (let after = Math.max(0, from); ; ) {
    const page = await log.readAll({ after, limit: PAGE_EVENTS });
    const last = page.at(-1);
    if (!last) break;
    for (const { type, data } of page) {
      if (type === 'SubjectErased') erased.add((data as { subject: string }).subject);
      else for (const subject of subjectsIn(data)) subjects.add(subject);
    }
    after = last.position;
  }
  return listUnknownSubjects(file, subjects.difference(erased)).length;
};

export const unreadableText = (subjects: number): string =>
  `The personal data of ${formatPlural(subjects, 'subject')} cannot be read, because keys.db has no key ` +
  'for it: restore a keys.db that is as new as the log.';
