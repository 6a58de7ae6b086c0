/** Answers that can be made again, for owners who want it: their hash and the question, sealed. */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { CONTRACT_VERSION } from '#contracts/places.ts';
import type { RecordedAnswer } from '#src/calls/audit.ts';
import { mappingFailures } from '#src/calls/failure.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { Answered } from '#src/calls/rules.ts';
import { timeOfCursor } from '#src/reading/lists.ts';
import { readOwnerSettings } from '#src/reading/live-sources.ts';
import { type OpeningVault, openOne } from '#src/sealing/sealed-texts.ts';
import { done } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';

/** The SHA-256 of an answer, as REST and MCP send it. */
export const hashOfAnswer = (value: unknown): string =>
  hash('sha256', JSON.stringify(value), 'hex');

/** What can make the same question get another answer, besides the log. */
export const answerVersion = ({ classifierVersion }: Pick<Deps, 'classifierVersion'>): string =>
  `${CONTRACT_VERSION}+classifier.${classifierVersion}`;

/** What both kinds of recorded answers have. */
type ListedAnswer = {
  as_of: { position: number; at: string | null };
  page: { next_cursor: string | null };
};

const RECORD = z.object({
  sha256: z.string(),
  input: z.object({}).loose(),
  /** When the call was made, in epoch milliseconds. */
  at: z.number(),
  as_of: z.object({ position: z.number(), at: z.string().nullable() }),
  /** The answer can have more than `as_of` says: the read models continue while it is made. */
  read_up_to: z.number(),
  /** When the cursor of the answer was written. */
  cursor_at: z.number().optional(),
});

export type RecordedQuestion = z.output<typeof RECORD>;

type RecordingDeps = Pick<Deps, 'readModels' | 'vault' | 'following' | 'classifierVersion'>;

/**
 * Records an answer, if its owner wants that. An answer never fails because it cannot be recorded: without its key, or while
 * a store fails, it has no record.
 */
export const recordAnswer = async (
  deps: RecordingDeps,
  ownerId: string,
  answered: Answered,
): Promise<RecordedAnswer | undefined> => {
  const recorded = await mappingFailures(async () =>
    done(await sealAnswer(deps, ownerId, answered)),
  );
  return recorded.ok ? recorded.value : undefined;
};

const sealAnswer = async (
  deps: RecordingDeps,
  ownerId: string,
  { input, at, value }: Answered,
): Promise<RecordedAnswer | undefined> => {
  const answers = (await readOwnerSettings(deps, ownerId))?.answers;
  if (!answers?.are_recorded) return undefined;
  const { as_of, page } = value as ListedAnswer;
  const cursor_at = page.next_cursor === null ? undefined : timeOfCursor(page.next_cursor);
  const record = {
    sha256: hashOfAnswer(value),
    input,
    at,
    as_of,
    read_up_to: deps.following.asOf().position,
    ...present({ cursor_at }),
  };
  const sealed_record = await deps.vault.seal(answers.sealed_for, JSON.stringify(record));
  if (sealed_record === null) return undefined;
  return { position: as_of.position, version: answerVersion(deps), sealed_record };
};

/** Opens the question of a recorded answer, with the hash of the answer; undefined if it was erased, or its key is lost. */
export const openQuestion = async (
  vault: OpeningVault,
  { sealed_record }: RecordedAnswer,
): Promise<RecordedQuestion | undefined> => {
  const opened = await openOne(vault, sealed_record);
  return typeof opened === 'string' ? RECORD.parse(JSON.parse(opened)) : undefined;
};
