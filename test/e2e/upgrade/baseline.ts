/** Which event types the newest fixture has: all but a few. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EventType } from '#contracts/registries/events.ts';
import { sqliteLogSource } from '#src/stores/sqlite/log/event-log.ts';
import { type Store, unpackDirectory, unpackLog } from './archive.ts';

/** The types that the newest fixture does not need, with what it would take to write one. A new type is here until a fixture has it. */
export const NOT_IN_BASELINE: Partial<Record<EventType, string>> = {
  EventSkipApproved: 'needs an event that cannot be folded, which no service writes',
  EventSkipProposed: 'needs an event that cannot be folded, which no service writes',
  PushOutcomeUnknown: 'needs ten attempts over three days',
};

const EVENTS_MAX = 100_000;

/** The types of the events in a fixture's log. `directory` is empty, and gets a copy of the log. */
export const typesIn = async (
  commit: string,
  store: Store,
  directory: string,
): Promise<Set<string>> => {
  if (store === 'servers') {
    const file = join(directory, 'log.ndjson');
    unpackLog(commit, file);
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    return new Set(lines.map((line) => (JSON.parse(line) as { type: string }).type));
  }
  unpackDirectory(commit, 'data', directory);
  const log = sqliteLogSource(directory);
  const events = await log.readAll({ after: 0, limit: EVENTS_MAX });
  await log.close();
  return new Set(events.map(({ type }) => type));
};
