/** Checks of a data directory and of what it holds. */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { listUnknownSubjects } from '#src/stores/sqlite/keys/read-only-keys.ts';
import { lockDirectory } from '#src/stores/sqlite/lock.ts';
import { inspectLog, sqliteLogSource } from '#src/stores/sqlite/log/log-open.ts';
import {
  filesOpenToOthers,
  isOpenToOthers,
  isThere,
  requireOwnDirectory,
} from '#src/system/directory.ts';
import { hasRoot, requireRoot } from '#src/system/secrets.ts';
import { type Config, isRemoteLog } from '#src/config.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { lowGenerationText, markOfGeneration } from '#src/wiring/vault.ts';
import { formatCount } from '../terminal/output.ts';
import { type Check, runCheck, fault, ok, warning } from './check.ts';
import type { RunningServer } from './server-file.ts';
import { unreadableSubjects, unreadableText } from './unreadable.ts';

const GIB = 1_073_741_824;
const MIB = 1_048_576;
const FREE_BYTES_FAULT = GIB / 10;
const KEYS_EVENTS = 1_000;

const checkAccess = (directory: string) =>
  runCheck('data directory', () => {
    if (!isThere(directory))
      return warning(`${directory} does not exist; serve creates it, and a projector needs none`);
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    requireOwnDirectory(directory);
    return ok(`${directory}, writable`);
  });

const checkFreeDisk = (directory: string) =>
  runCheck('free disk', () => {
    if (!existsSync(directory)) return ok('not known, because the directory does not exist');
    const { bavail, bsize } = statfsSync(directory);
    const free = bavail * bsize;
    const text = `${(free / GIB).toFixed(1)} GiB`;
    if (free < FREE_BYTES_FAULT) return fault(`${text}: writes will soon be refused`);
    return free < GIB ? warning(text) : ok(text);
  });

const checkPermissions = (directory: string) =>
  runCheck('permissions', () => {
    // The modes of files do not matter in a directory that is closed to others.
    if (!existsSync(directory) || !isOpenToOthers(directory))
      return ok('no other user can read the data directory');
    const files = filesOpenToOthers(directory);
    return warning(
      `other users can ${files.length === 0 ? `list ${directory}` : `read ${files.join(', ')}`}: ` +
        `chmod 700 ${directory}`,
    );
  });

const checkServer = (directory: string, server: RunningServer | undefined) =>
  runCheck('server', () => {
    if (server) return ok(`${server.role ?? 'server'} runs: ${server.url}, process ${server.pid}`);
    if (!isThere(join(directory, 'lock'))) return ok('none has run here');
    try {
      lockDirectory(directory, 0).release();
    } catch (error) {
      if (!(error instanceof StartupError)) throw error;
      return warning('none answers, but a process holds the directory: it is starting or stopping');
    }
    const hasCrashed = existsSync(join(directory, 'server.json'));
    return ok(hasCrashed ? 'none runs; the last one did not stop in order' : 'none runs');
  });

const checkLogFile = (directory: string) =>
  runCheck('log', () => {
    const last = inspectLog(directory);
    if (last === null) return ok('none yet');
    const size = `${(statSync(join(directory, 'log.db')).size / MIB).toFixed(1)} MiB`;
    return ok(
      `${formatCount(last)} events, ${size}; no accidental damage found in the newest. ` +
        'tributary log verify checks all',
    );
  });

const checkRoot = (directory: string, given: Buffer | undefined) =>
  runCheck('root key', () => {
    requireRoot(directory, given);
    return ok(hasRoot(directory) ? 'in the data directory' : given ? 'ROOT_KEY' : 'none yet');
  });

/** Looks for the keys of the newest events, which a vault that is older than its log does not have. */
const checkKeys = (directory: string, generation: number) =>
  runCheck('keys', async () => {
    const end = inspectLog(directory, 0);
    if (end === null) return ok('none yet');
    const source = sqliteLogSource(directory);
    const unreadable = await unreadableSubjects(directory, source, end - KEYS_EVENTS);
    await source.close();
    if (unreadable === null)
      return fault('keys.db is gone: restore it, otherwise no personal data can be read');
    const next = new Set([markOfGeneration(generation + 1)]);
    if (listUnknownSubjects(join(directory, 'keys.db'), next).length === 0)
      return fault(lowGenerationText(generation));
    if (unreadable > 0) return warning(unreadableText(unreadable));
    const events = formatCount(Math.min(end, KEYS_EVENTS));
    return ok(`complete for the newest ${events} events`);
  });

/** Checks the data directory, and what it holds if the log is embedded. */
export const checkDirectory = (
  config: Config,
  server: RunningServer | undefined,
): Promise<Check[]> => {
  const { dataDirectory: directory, rootKey, mailboxKeyGeneration } = config;
  return Promise.all([
    checkAccess(directory),
    checkFreeDisk(directory),
    checkPermissions(directory),
    checkServer(directory, server),
    ...(isRemoteLog(config)
      ? []
      : [
          checkLogFile(directory),
          checkRoot(directory, rootKey),
          checkKeys(directory, mailboxKeyGeneration),
        ]),
  ]);
};
