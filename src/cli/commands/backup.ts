/** Commands that back up the data directory of a service, also while it runs, and restore a backup elsewhere. */
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { performInProcess } from '#src/cli/desk-in-process.ts';
import { commandLine, type CommonOptions, configFor } from '#src/cli/options.ts';
import { hasLog, noDataError } from '#src/cli/service.ts';
import {
  CommandError,
  EXIT,
  formatPlural,
  printNotice,
  printResult,
  startProgress,
  VERSION,
} from '#src/cli/terminal.ts';
import { type Config, isRemoteLog, redactUrl } from '#src/config.ts';
import { openForCommand } from '#src/core.ts';
import { iso } from '#src/shared/time.ts';
import { copyLogFiles } from '#src/stores/sqlite/backup.ts';
import { messageOfError } from '#src/stores/sqlite/failure.ts';
import { sqliteLogSource } from '#src/stores/sqlite/log/event-log.ts';
import { replaceFile } from '#src/system/directory.ts';
import { systemClock } from '#src/system/ids.ts';
import { hasRoot } from '#src/system/secrets.ts';
import { ERASURES_FILE } from '#src/wiring/vault.ts';

const MANIFEST = 'manifest.json';
const ROOT_FILE = 'root.key';

const manifest = z.object({
  format: z.literal(1),
  /** Of the service that wrote it. */
  version: z.string(),
  /** Identity of the log. */
  log: z.string(),
  /** Everything up to this event is in the backup. */
  position: z.int().min(0),
  /** When that event happened; null in an empty log. */
  at: z.string().nullable(),
  made_at: z.string(),
  files: z.array(
    z.object({ name: z.string(), bytes: z.int().min(0), sha256: z.string().length(64) }),
  ),
});
type Manifest = z.infer<typeof manifest>;

const refused = (text: string): CommandError => new CommandError(EXIT.refused, text);

/** Throws unless there is nothing at the path but perhaps an empty directory. */
const requireEmpty = (directory: string): void => {
  if (!existsSync(directory)) return;
  if (statSync(directory).isDirectory() && readdirSync(directory).length === 0) return;
  throw refused(
    `${directory} is not empty. Nothing was changed. Name a directory that does not exist yet.`,
  );
};

/**
 * Makes a directory beside `target` with `work`, and gives it that name at the end, so that `target` is whole or not there.
 * What an error or a signal interrupts is removed.
 */
const makeWhole = async <T>(
  target: string,
  work: (directory: string) => Promise<T>,
): Promise<T> => {
  requireEmpty(target);
  mkdirSync(dirname(target), { recursive: true });
  const partial = mkdtempSync(`${target}.partial-`);
  const remove = (): void => rmSync(partial, { recursive: true, force: true });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, remove);
  try {
    const made = await work(partial);
    renameSync(partial, target);
    return made;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, remove);
    remove();
  }
};

const sha256Of = async (path: string): Promise<string> => {
  const sum = createHash('sha256');
  await pipeline(createReadStream(path), sum);
  return sum.digest('hex');
};

const describeFile = async (
  directory: string,
  name: string,
): Promise<Manifest['files'][number]> => {
  const path = join(directory, name);
  return { name, bytes: statSync(path).size, sha256: await sha256Of(path) };
};

const copyWithProgress = async (from: string, to: string): Promise<readonly string[]> => {
  const bar = startProgress({ label: 'backup', total: 0, unit: 'pages' });
  try {
    return await copyLogFiles(from, to, (done, total) => bar.update(done, total));
  } finally {
    bar.stop();
  }
};

type BackupOptions = CommonOptions & {
  withRootKey?: boolean;
  every?: number;
  keep?: number;
};

const backUpOnce = (
  { dataDirectory }: Config,
  target: string,
  withRootKey: boolean,
): Promise<Manifest> =>
  makeWhole(target, async (directory) => {
    const names = [...(await copyWithProgress(dataDirectory, directory))];
    for (const name of [ERASURES_FILE, ...(withRootKey ? [ROOT_FILE] : [])]) {
      if (!existsSync(join(dataDirectory, name))) continue;
      copyFileSync(join(dataDirectory, name), join(directory, name));
      names.push(name);
    }
    const log = sqliteLogSource(directory);
    const { position, at } = await log.head();
    await log.close();
    const files = await Promise.all(names.map((name) => describeFile(directory, name)));
    const made: Manifest = {
      format: 1,
      version: VERSION,
      log: log.id,
      position,
      at: at === null ? null : iso(at),
      made_at: iso(systemClock().now()),
      files,
    };
    replaceFile(join(directory, MANIFEST), `${JSON.stringify(made, null, 2)}\n`);
    return made;
  });

const upTo = ({ position, at }: Manifest): string =>
  `position ${position}${at === null ? '' : ` (${at})`}`;

const reportOf = (config: Config, target: string, made: Manifest): string => {
  const files = made.files.map(({ name, bytes }) => `${name} ${(bytes / 1e6).toFixed(1)} MB`);
  const hasKey = made.files.some(({ name }) => name === ROOT_FILE);
  return [
    `Backup in ${target}: every event up to ${upTo(made)}; ${files.join(', ')}.`,
    hasKey
      ? 'root.key is in it, and opens everything: let nobody else read this directory.'
      : 'root.key is not in it: without it nothing in the backup can be read, so keep a copy elsewhere.',
    `Restore: ${commandLine(`restore ${target} --erasures ${join(config.dataDirectory, ERASURES_FILE)}`, resolve('new-data'))}`,
  ].join('\n');
};

const requireEmbedded = (config: Config): void => {
  if (isRemoteLog(config))
    throw new CommandError(
      EXIT.usage,
      `the log is at ${redactUrl(config.eventLogUrl)}: back up the volume of that server, which also has the keys of ` +
        'personal data, with the tools of EventStoreDB, and keep ROOT_KEY elsewhere. Nothing in the data directory needs a backup.',
    );
  if (!hasLog(config)) throw noDataError(config);
};

/** Directories of a series are named by their time, so that their order is that of their names. */
const SERIES_NAME = /^\d{4}-\d\d-\d\dT\d{6}Z$/;
const seriesName = (): string => iso(systemClock().now()).replace(/\.\d+/, '').replaceAll(':', '');

/** Makes a backup now and after each interval, and keeps the newest ones. A failed one is reported, and the next one is tried. */
const backUpRepeatedly = async (
  config: Config,
  series: string,
  { everyMs, keep, withRootKey }: { everyMs: number; keep: number; withRootKey: boolean },
): Promise<void> => {
  const stopping = new AbortController();
  const { signal } = stopping;
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
  while (!signal.aborted) {
    const target = join(series, seriesName());
    try {
      const made = await backUpOnce(config, target, withRootKey);
      printNotice(`Backup in ${target}: every event up to ${upTo(made)}.`);
      const all = readdirSync(series)
        .filter((name) => SERIES_NAME.test(name))
        .sort();
      for (const name of all.slice(0, -keep)) rmSync(join(series, name), { recursive: true });
    } catch (error) {
      printNotice(`No backup was made: ${messageOfError(error)}`);
    }
    await pause(everyMs, undefined, { signal }).catch(() => undefined);
  }
};

export const backUp = async (target: string, options: BackupOptions): Promise<void> => {
  const config = configFor(options);
  requireEmbedded(config);
  const { withRootKey = false, every: everyMs, keep = 7 } = options;
  if (withRootKey && !hasRoot(config.dataDirectory))
    throw refused(
      'there is no root.key in the data directory: ROOT_KEY is what to keep. Nothing was backed up.',
    );
  const directory = resolve(target);
  if (everyMs !== undefined)
    return backUpRepeatedly(config, directory, { everyMs, keep, withRootKey });
  try {
    const made = await backUpOnce(config, directory, withRootKey);
    printResult(options, { directory, ...made }, reportOf(config, directory, made));
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw refused(
      `no backup was made, and nothing is left in ${directory}: ${messageOfError(error)}`,
    );
  }
};

type RestoreOptions = CommonOptions & {
  erasures?: string;
  withoutErasures?: boolean;
  rootKey?: string;
};

/** Reads the manifest, and compares every file with it. Throws CommandError. */
const checkBackup = async (directory: string): Promise<Manifest> => {
  const path = join(directory, MANIFEST);
  if (!existsSync(path))
    throw refused(
      `${directory} is no complete backup: it has no ${MANIFEST}. Nothing was restored.`,
    );
  const read = manifest.safeParse(jsonIn(readFileSync(path, 'utf8')));
  if (!read.success)
    throw refused(
      `${path} cannot be read: it is damaged, or of another version. Nothing was restored.`,
    );
  for (const listed of read.data.files) {
    const { name } = listed;
    const file = join(directory, name);
    const isWhole =
      basename(name) === name &&
      existsSync(file) &&
      isDeepStrictEqual(await describeFile(directory, name), listed);
    if (!isWhole)
      throw new CommandError(
        EXIT.differs,
        `${file} is not what was backed up: it is missing, cut off or changed. Nothing was restored; use another backup.`,
      );
  }
  return read.data;
};

const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** A line of a list of erasures; the first one of a list has no subject. */
const erasureLine = z.object({ log: z.string(), at: z.string(), subject: z.string().optional() });

/** Reads the subjects in a list of erasures of this log. Throws CommandError. */
const readErasures = (path: string, log: string): string[] => {
  if (!existsSync(path)) throw refused(`there is no ${path}. Nothing was restored.`);
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  if (lines.length === 0)
    throw refused(`${path} is empty, and no list of erasures. Nothing was restored.`);
  return lines.flatMap((line, index) => {
    const { data: read } = erasureLine.safeParse(jsonIn(line));
    if (read && read.log !== log)
      throw refused(
        `${path}, line ${index + 1}: an erasure in the log ${read.log}, and the backup is of the log ${log}. Name the ` +
          `${ERASURES_FILE} of the directory that the backup was made of, or say --without-erasures if it is lost. Nothing was restored.`,
      );
    if (read) return read.subject === undefined ? [] : [read.subject];
    // A crash can cut off the last line, whose erasure had not begun.
    if (index > 0 && index === lines.length - 1) return [];
    throw refused(`${path}, line ${index + 1}: not a list of erasures. Nothing was restored.`);
  });
};

/** Returns the file with the root key: the one that was named, or that of the backup. Undefined if ROOT_KEY has it. Throws CommandError. */
const rootKeyFile = (
  backup: string,
  config: Config,
  { rootKey }: RestoreOptions,
): string | undefined => {
  const file = rootKey ?? (hasRoot(backup) ? join(backup, ROOT_FILE) : undefined);
  if (file !== undefined && !existsSync(file))
    throw refused(`there is no ${file}. Nothing was restored.`);
  if (file === undefined && config.rootKey === undefined)
    throw refused(
      'the backup has no root.key, and nothing in it can be read without: name the file with --root-key, or set ROOT_KEY. ' +
        'Nothing was restored.',
    );
  return file;
};

/** Destroys the keys of everybody who was erased after the backup. Returns those that still had one. */
const eraseAgain = async (config: Config, subjects: readonly string[]): Promise<string[]> => {
  const core = await openForCommand(config);
  const had: string[] = [];
  try {
    for (const subject of subjects) if (await core.deps.vault.destroy(subject)) had.push(subject);
    return had;
  } finally {
    await core.close();
  }
};

const RECORD = /^(?:led|hnd)_/;
const ERASED_REASON = 'Erased after the backup that was restored';
const HALT_REASON = 'A backup was restored: check which requests were sent after it, then resume.';

/** Writes the erasures of records into the log, and halts outreach: what was sent after the backup would be sent again. */
const recordRestore = (config: Config, erased: readonly string[]): Promise<void> =>
  performInProcess(config, 'restore', [
    ['haltOutreach', { reason: HALT_REASON }],
    ...erased
      .filter((subject) => RECORD.test(subject))
      .map((subject) => ['eraseSubject', { subject, reason: ERASED_REASON }] as const),
  ]);

/** `listed`: how many erasures the list has; undefined without a list. */
const erasuresText = (erased: readonly string[], listed: number | undefined): string => {
  if (listed === undefined)
    return 'Nobody was erased again: who was erased after the backup can be read again, and must be erased once more.';
  return erased.length === 0
    ? `The backup has all ${formatPlural(listed, 'erasure')} of the list.`
    : `Erased again, because it was erased after the backup: ${formatPlural(erased.length, 'subject')} of ${listed} in the list.`;
};

/** Restores a backup into a directory that has nothing, so that a service can start there. */
export const restore = async (backup: string, options: RestoreOptions): Promise<void> => {
  const config = configFor(options);
  const from = resolve(backup);
  const { erasures, withoutErasures = false } = options;
  if ((erasures !== undefined) === withoutErasures)
    throw new CommandError(
      EXIT.usage,
      `name the list of who was erased since, ${ERASURES_FILE} in the live data directory, with --erasures FILE; if it is ` +
        'lost, say --without-erasures.',
    );
  requireEmpty(config.dataDirectory);
  const made = await checkBackup(from);
  const rootFile = rootKeyFile(from, config, options);
  const listed = erasures === undefined ? undefined : readErasures(erasures, made.log);
  const erased = await makeWhole(config.dataDirectory, async (directory) => {
    for (const { name } of made.files)
      if (name !== ROOT_FILE) copyFileSync(join(from, name), join(directory, name));
    if (rootFile !== undefined)
      writeFileSync(join(directory, ROOT_FILE), readFileSync(rootFile), { mode: 0o600 });
    const restored = { ...config, dataDirectory: directory };
    const again = await eraseAgain(restored, listed ?? []);
    await recordRestore(restored, again);
    return again;
  });
  const { position, at, log } = made;
  printResult(
    options,
    {
      directory: config.dataDirectory,
      log,
      position,
      at,
      erased: erased.length,
      outreach_halted: true,
    },
    [
      `Restored in ${config.dataDirectory}: every event up to ${upTo(made)}, compared with the manifest.`,
      erasuresText(erased, listed?.length),
      'Credentials that were revoked after the backup work again: revoke them. Outreach and mail are halted: compare what ' +
        `was sent since, start the service, then run ${commandLine('outreach resume', config.dataDirectory)}.`,
    ].join('\n'),
  );
};
