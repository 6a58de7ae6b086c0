/**
 * Texts of people that older events contain as plain text. Newer events seal them. An erasure cannot remove them from
 * the log, so they are replaced when events of an erased subject are read.
 */
import { isWrittenReason } from '#src/leads/lead-texts.decider.ts';
import type { EventText, StoredEvent } from '#src/ports/event-log.ts';
import type { KeyVault } from '#src/ports/system.ts';
import { recordOfStream } from '#src/writing/streams.ts';
import { ERASED } from './sealed-texts.ts';

type Stored = Pick<StoredEvent, 'stream' | 'type' | 'data'>;
type LegacyTexts = { reason?: string; note_to_buyer?: string; lines?: { note?: string }[] };

/** The subject whose texts the event contains; undefined for events of other records. */
const subjectOf = ({ stream, type }: Stored): string | undefined => {
  const record = recordOfStream(stream);
  return record && /^(?:led|hnd)_/.test(record) && type !== 'SubjectErased' ? record : undefined;
};

/** Whether an event of a lead or a handoff contains such a text. */
export const hasPlainTexts = (event: Stored): boolean => {
  const { reason, note_to_buyer, lines = [] } = event.data as LegacyTexts;
  return (
    (isWrittenReason(reason) ||
      note_to_buyer !== undefined ||
      lines.some(({ note }) => note !== undefined)) &&
    subjectOf(event) !== undefined
  );
};

const withoutTexts = (data: LegacyTexts): LegacyTexts => ({
  ...data,
  ...(isWrittenReason(data.reason) && { reason: ERASED }),
  ...(data.note_to_buyer !== undefined && { note_to_buyer: ERASED }),
  ...(data.lines && {
    lines: data.lines.map((line) => (line.note === undefined ? line : { ...line, note: ERASED })),
  }),
});

/** Replaces the plain texts in events of erased subjects. */
export const replaceErasedTexts = async <Event extends Stored>(
  vault: Pick<KeyVault, 'knows'>,
  events: readonly Event[],
): Promise<readonly Event[]> => {
  const subjects = new Set(events.filter(hasPlainTexts).flatMap((event) => subjectOf(event) ?? []));
  const erased = new Set<string | undefined>();
  const check = async (subject: string) => {
    if ((await vault.knows(subject)) === 'destroyed') erased.add(subject);
  };
  await Promise.all([...subjects].map(check));
  if (erased.size === 0) return events;
  return events.map((event) =>
    erased.has(subjectOf(event))
      ? { ...event, data: withoutTexts(event.data as LegacyTexts) }
      : event,
  );
};

/** Matches the names of members that can have such a text, in JSON. */
const NAMES = /"(?:reason|note|note_to_buyer)":/;

/** Replaces the plain texts in events of erased subjects, and parses only events that can have some. */
export const replaceErasedJson = async (
  vault: Pick<KeyVault, 'knows'>,
  events: readonly EventText[],
): Promise<readonly EventText[]> => {
  const parsed = events
    .filter(({ data }) => NAMES.test(data))
    .map((event) => ({ ...event, data: JSON.parse(event.data) as object }));
  if (parsed.length === 0) return events;
  const shown = await replaceErasedTexts(vault, parsed);
  const texts = new Map(shown.map(({ position, data }) => [position, JSON.stringify(data)]));
  return events.map((event) => ({ ...event, data: texts.get(event.position) ?? event.data }));
};
