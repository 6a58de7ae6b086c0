/** Makes a data directory and a Redis belong to another log, at the explicit request of an operator. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type LogMark, type MarkPlace, NO_LOG, placesAsSubject } from '#src/stores/log-memory.ts';
import { redisStore } from '#src/stores/redis/read-model.ts';
import { lockDirectory } from '#src/stores/sqlite/lock.ts';
import { prepareDirectory } from '#src/system/directory.ts';
import { type Config, hasRemoteReadModels } from '#src/config.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { REMOTE_PROJECTIONS } from './read-models.ts';
import { openMarkPlaces } from './event-log.ts';

/** Caches of the log in a data directory, and the desk token, which is an entry of the log. */
const DERIVED_FILES =
  /^(?:(?:(?:views|near)(?:-\d+)?|proof|catalog[^/]*)\.db(?:-(?:wal|shm|journal))?|desk\.token|server\.json)$/;

/** What was adopted: names of places, files removed from the directory, and read models removed from Redis. */
export type AdoptedLog = { places: string[]; files: string[]; readModels: number };

type Adoption = { known: string; found: string };

/**
 * Empties what was built from the log `known` in the data directory and in Redis, and assigns both to the log `found`,
 * which the server must have; `none` is a server without a log. Skips places that already belong to the log of the
 * server. Throws StartupError, also if either identity is not the actual one.
 */
export const adoptLog = async (config: Config, adoption: Adoption): Promise<AdoptedLog> => {
  const { dataDirectory: directory } = config;
  prepareDirectory(directory);
  const lock = lockDirectory(directory);
  const places: MarkPlace[] = [];
  try {
    places.push(...(await openMarkPlaces(config, true)));
    const adopting = await findPlaces(config, places, adoption);
    const adopted: AdoptedLog = { places: [], files: [], readModels: 0 };
    for (const place of adopting) {
      if (place.isShared) adopted.readModels += await dropReadModels(config, adoption.known);
      else adopted.files.push(...removeDerivedFiles(directory));
      // Last, so that a run that was interrupted is repeated.
      await place.replace(markOf(adoption));
      adopted.places.push(place.name);
    }
    return adopted;
  } finally {
    await Promise.all(places.map((place) => place.close()));
    lock.release();
  }
};

const markOf = ({ found }: Adoption): LogMark | undefined =>
  found === NO_LOG ? undefined : { id: found, newest: null };

const findPlaces = async (
  { eventLogUrl }: Config,
  places: readonly MarkPlace[],
  { known, found }: Adoption,
): Promise<MarkPlace[]> => {
  const { inspectLogServer } = await import('#src/stores/eventstoredb/connect.ts');
  const stored = await Promise.all(places.map((place) => place.load()));
  const server = await inspectLogServer(eventLogUrl, stored);
  if ((server.id ?? NO_LOG) !== found)
    throw new StartupError(
      `The server has ${server.id === null ? 'no log (none)' : `log ${server.id}`}, not ${found}. ` +
        'Nothing was changed.',
    );
  return places.filter((place, index) => {
    const mark = stored[index];
    if (!mark || server.isKnown[index]) return false;
    if (mark.id === known) return true;
    throw new StartupError(
      `${placesAsSubject([place.name])} belongs to log ${mark.id}, not to ${known}. Nothing was changed.`,
    );
  });
};

const removeDerivedFiles = (directory: string): string[] => {
  const files = readdirSync(directory).filter((name) => DERIVED_FILES.test(name));
  for (const name of files) rmSync(join(directory, name), { force: true });
  return files.toSorted();
};

const dropReadModels = async (config: Config, log: string): Promise<number> => {
  if (!hasRemoteReadModels(config)) return 0;
  const store = await redisStore({
    url: config.readModelUrl,
    log,
    projections: REMOTE_PROJECTIONS,
  });
  let dropped = 0;
  try {
    for (const { name } of REMOTE_PROJECTIONS) {
      const { all } = await store.spaces(name);
      for (const space of all) await store.drop(space);
      dropped += all.length;
    }
  } finally {
    await store.close();
  }
  return dropped;
};
