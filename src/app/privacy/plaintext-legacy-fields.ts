/**
 * Words of people that older events hold in clear. Since then they are sealed; out of the log itself no
 * erasure takes them, so nothing shows them any more.
 */
import { isWrittenReason } from '#src/domain/lead-texts.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import type { KeyVault } from '#src/ports/system.ts';
import { ERASED } from './sealed-texts.ts';

type Stored = Pick<StoredEvent, 'stream' | 'type' | 'data'>;
type Worded = {
  reason?: string;
  note_to_buyer?: string;
  lines?: { note?: string }[];
};

const PREFIXES: Record<string, string> = { lead: 'led', handoff: 'hnd' };

/** Whose erasure takes the words away; undefined where no person is the matter. */
const subjectOf = ({ stream, type }: Stored): string | undefined => {
  const [, kind = '', id] = /-([a-z]+)_(.+)$/.exec(stream) ?? [];
  const prefix = PREFIXES[kind];
  return prefix === undefined || type === 'SubjectErased' ? undefined : `${prefix}_${id}`;
};

/** Whether an event of a lead or a handoff holds such words. */
export const holdsWords = (event: Stored): boolean => {
  const { reason, note_to_buyer, lines = [] } = event.data as Worded;
  return (
    subjectOf(event) !== undefined &&
    (isWrittenReason(reason) ||
      note_to_buyer !== undefined ||
      lines.some(({ note }) => note !== undefined))
  );
};

const withoutWords = (data: Worded): Worded => ({
  ...data,
  ...(isWrittenReason(data.reason) && { reason: ERASED }),
  ...(data.note_to_buyer !== undefined && { note_to_buyer: ERASED }),
  ...(data.lines && {
    lines: data.lines.map((line) => (line.note === undefined ? line : { ...line, note: ERASED })),
  }),
});

/** The events as they are, but for words about somebody who was erased. */
export const withErasedWords = async <Event extends Stored>(
  vault: Pick<KeyVault, 'knows'>,
  events: readonly Event[],
): Promise<Event[]> => {
  const subjects = new Set(events.filter(holdsWords).flatMap((event) => subjectOf(event) ?? []));
  const erased = new Set<string | undefined>();
  const look = async (subject: string) => {
    if ((await vault.knows(subject)) === 'destroyed') erased.add(subject);
  };
  await Promise.all([...subjects].map(look));
  return events.map((event) =>
    erased.has(subjectOf(event)) ? { ...event, data: withoutWords(event.data as Worded) } : event,
  );
};
