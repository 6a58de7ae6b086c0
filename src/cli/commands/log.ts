/** Commands on the log itself: verify, copy, and adopt the one that a server has now. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readNote } from '#src/cli/commands/audit.ts';
import { performInProcess } from '#src/cli/desk-in-process.ts';
import { commandLine, type CommonOptions, configFor } from '#src/cli/options.ts';
import { hasLog, noDataError, findServer, unreadableText } from '#src/cli/service.ts';
import {
  CommandError,
  EXIT,
  formatPlural,
  print,
  printNotice,
  printResult,
  type Progress,
  startProgress,
} from '#src/cli/terminal.ts';
import { type Config, isRemoteLog, redactUrl, readConfig } from '#src/config.ts';
import {
  AppendTooLarge,
  type EventLog,
  LogUnavailable,
  UnknownEventType,
} from '#src/ports/event-log.ts';
import { TreeDamaged } from '#src/ports/proof-store.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import type { KeyringStore, MovableKeys } from '#src/ports/system.ts';
import { checkTree, type TreeCheck, type TreeFault } from '#src/proof/check-log.ts';
import { sqliteProofStore } from '#src/stores/sqlite/proof-store.ts';
import { requireReadable } from '#src/stores/event-codec.ts';
import { prepareDirectory } from '#src/system/directory.ts';
import { hostsOf } from '#src/system/hosts.ts';
import { systemClock } from '#src/system/ids.ts';
import { copyKeyring } from '#src/system/keyring.ts';
import { hasRoot, rootKeyOf } from '#src/system/secrets.ts';
import {
  type CopiedKeys,
  copyKeys,
  copyLog,
  type CopyPhase,
  type CopySource,
  type CopyTarget,
  lastingKeys,
  lastingLog,
  OUTAGE_S_MAX,
  outlasting,
  type Repeat,
} from '#src/transfer/copy-log.ts';
import { adoptLog } from '#src/wiring/adopt-log.ts';
import { openEventLog } from '#src/wiring/event-log.ts';
import { commandLogger } from '#src/wiring/logger.ts';
import { openRoot, subjectsWithoutKey } from '#src/wiring/vault.ts';

const HALT_REASON = 'The log was replaced: check which requests were sent already, then resume.';

const textOf = (
  { dataDirectory }: Config,
  files: readonly string[],
  { readModels, isEmpty }: { readModels: number; isEmpty: boolean },
): string =>
  [
    `Local databases and catalog: ${files.length > 0 ? `removed (${files.join(', ')})` : 'none here'}; ` +
      'the next start fills them from the adopted log.',
    `Redis: ${formatPlural(readModels, 'read model')} removed; a projector fills them again.`,
    'Credentials: API keys, desk tokens and review links are those of the adopted log. One that was revoked after ' +
      'a backup works again: revoke it. The next start writes desk.token.',
    isEmpty
      ? 'Outbox: its files stay. The next start makes a new log, without any request.'
      : 'Outbox: its files stay. Outreach is halted for everybody, because requests that were sent after a backup ' +
        `count as not sent: compare them, then run ${commandLine('outreach resume', dataDirectory)}.`,
  ].join('\n');

/** Halts outreach in the adopted log: what was sent after a backup would be sent again. */
const haltOutreach = async (config: Config): Promise<void> => {
  printNotice(
    `Halting outreach: if this fails, run ${commandLine('outreach halt', config.dataDirectory)} before any other process.`,
  );
  await performInProcess(config, 'log-adopt', [['haltOutreach', { reason: HALT_REASON }]]);
};

/** Makes this installation belong to the log that its server has now. */
export const adoptRemoteLog = async (
  known: string,
  found: string,
  options: CommonOptions,
): Promise<void> => {
  const config = configFor(options);
  if (!isRemoteLog(config))
    throw new CommandError(
      EXIT.usage,
      'EVENT_LOG_URL names no server. The log of a data directory cannot be replaced by another: use that directory.',
    );
  const isEmpty = found === 'none';
  // Without its secret the halt would fail after everything else was done.
  if (!isEmpty) openRoot(config);
  const { places, files, readModels } = await adoptLog(config, { known, found });
  const url = redactUrl(config.eventLogUrl);
  const report = { known, found, url, places, files, read_models: readModels };
  if (places.length === 0) {
    printResult(
      options,
      report,
      `Nothing to adopt: nothing here belongs to a different log from ${url}.`,
    );
    return;
  }
  if (!options.json) print(`Adopting log ${found} at ${url} for ${places.join(' and ')}.`);
  if (!isEmpty) await haltOutreach(config);
  printResult(
    options,
    { ...report, outreach_halted: !isEmpty },
    textOf(config, files, { readModels, isEmpty }),
  );
};

/** One end of a copy: its events, and beside them the keyring and the keys of personal data. */
type End<Log, Keys> = {
  log: Log;
  keyring: KeyringStore;
  keys(vaultKeys: readonly Buffer[]): Promise<Keys>;
};
/** Undefined keys: the source has no vault. */
type SourceEnd = End<CopySource, Pick<MovableKeys, 'keyOf'> | undefined>;
type TargetEnd = End<CopyTarget, MovableKeys>;
/** `onOutage` is called before the text about it. */
type Opening = { stack: AsyncDisposableStack; onOutage(): void };
type CopyUrls = { from: string; to: string };
type Copied = { result: Awaited<ReturnType<typeof copyLog>>; keys: CopiedKeys };

const NO_KEYS: CopiedKeys = { subjects: 0, destroyed: 0, differing: [] };

const HINTS = {
  same: 'Name two logs.',
  foreign: 'Copy into an empty log, or into one that holds only the beginning of this source.',
  differs: 'The copy cannot be used. Copy into an empty log.',
};
const RUN_AGAIN = 'Run the same command again: it continues where this one stopped.';

const directoryOf = (url: string): string | undefined =>
  url.startsWith('sqlite:') ? resolve(url.slice('sqlite:'.length)) : undefined;

const requireLogUrl = (url: string): void => {
  const isDirectory = /^sqlite:(?!log$|$)/.test(url);
  if (isDirectory || /^esdb(?:\+discover)?:\/\/[^/?#\s]+/.test(url)) return;
  throw new CommandError(
    EXIT.usage,
    `${redactUrl(url)} names no log: use sqlite:DIRECTORY (a data directory) or esdb://HOST.`,
  );
};

/** Repeats calls to the server at `url` while it does not answer. */
const repeatAt = (url: string, onOutage: () => void): Repeat =>
  outlasting({
    onOutage(cause) {
      onOutage();
      printNotice(
        `EventStoreDB at ${hostsOf(url)} does not answer (${cause}). Waiting up to ${OUTAGE_S_MAX} s for it.`,
      );
    },
    monotonic: systemClock().monotonic,
    pause: (ms) => pause(ms),
  });

const openRemote = async (
  url: string,
  { stack, onOutage }: Opening,
): Promise<End<CopySource & CopyTarget, MovableKeys>> => {
  const { eventStoreLog } = await import('#src/stores/eventstoredb/event-log.ts');
  const log = await eventStoreLog({ url });
  stack.defer(() => log.close());
  const repeat = repeatAt(url, onOutage);
  return {
    log: lastingLog(log, repeat),
    keyring: {
      readKeyring: () => repeat(() => log.keyring.readKeyring()),
      replaceKeyring: (...texts) => repeat(() => log.keyring.replaceKeyring(...texts)),
    },
    keys: async (vaultKeys) => lastingKeys(await repeat(() => log.keyVault(vaultKeys)), repeat),
  };
};

const openSource = async (url: string, opening: Opening): Promise<SourceEnd> => {
  const { stack } = opening;
  const directory = directoryOf(url);
  if (directory === undefined) return openRemote(url, opening);
  const { sqliteLogSource } = await import('#src/stores/sqlite/log/event-log.ts');
  const log = sqliteLogSource(directory);
  stack.defer(() => log.close());
  const file = join(directory, 'keys.db');
  const { openKeysToRead, sqliteKeyring } = await import('#src/stores/sqlite/keys/key-vault.ts');
  const keys = async (vaultKeys: readonly Buffer[]) => {
    if (!existsSync(file)) return undefined;
    const vault = openKeysToRead(file, vaultKeys);
    stack.defer(() => vault?.close());
    return vault;
  };
  return { log, keyring: sqliteKeyring(file, true), keys };
};

const openTarget = async (url: string, opening: Opening): Promise<TargetEnd> => {
  const { stack } = opening;
  const directory = directoryOf(url);
  if (directory === undefined) return openRemote(url, opening);
  prepareDirectory(directory);
  const { sqliteEventLog } = await import('#src/stores/sqlite/log/event-log.ts');
  const log = sqliteEventLog({ directory });
  stack.defer(() => log.close());
  const file = join(directory, 'keys.db');
  const { sqliteKeyring, sqliteKeyVault } = await import('#src/stores/sqlite/keys/key-vault.ts');
  const keys = async (vaultKeys: readonly Buffer[]) => {
    const vault = sqliteKeyVault(file, vaultKeys);
    stack.defer(() => vault.close());
    return vault;
  };
  return { log, keyring: sqliteKeyring(file, false), keys };
};

/** The root key of both ends: they need the same. */
const rootFor = (directories: readonly (string | undefined)[]): Buffer => {
  const { rootKey: root } = readConfig();
  const directory = directories.find((each) => each !== undefined && hasRoot(each));
  if (root === undefined && directory === undefined)
    throw new StartupError(
      'ROOT_KEY is not set, and without it the keys of personal data cannot be copied. Set it to the ' +
        'ROOT_KEY of the source.',
    );
  return directory === undefined ? (root as Buffer) : rootKeyOf({ directory, root });
};

/** Whether a source has keys to copy: a directory may have no vault. */
const hasKeys = (url: string): boolean => {
  const directory = directoryOf(url);
  return directory === undefined || existsSync(join(directory, 'keys.db'));
};

/** The same source, whose reads throw UnknownEventType: a copy that misses an event must not succeed. */
const requiringReadable = (from: CopySource): CopySource => ({
  id: from.id,
  head: () => from.head(),
  async readAll(page) {
    const events = await from.readAll(page);
    requireReadable(events);
    return events;
  },
});

const showPhases = (length: number, unit: string) => {
  let phase: CopyPhase | undefined;
  let bar: Progress | undefined;
  return {
    update(next: CopyPhase, position: number): void {
      const total = Math.max(length, position);
      if (next !== phase) {
        bar?.stop();
        bar = startProgress({ label: next.padEnd('compare'.length), total, unit });
      }
      phase = next;
      bar?.update(position, total);
    },
    /** Removes the line; the next update shows it again. */
    stop(): void {
      bar?.stop();
      phase = undefined;
    },
  };
};

const commandErrorOf = (error: unknown): unknown => {
  if (error instanceof LogUnavailable && error.reason === 'replaced')
    return new CommandError(
      EXIT.refused,
      `the log was replaced during the copy: ${error.message.split('. ')[0]}. Correct the address, the volume or the ` +
        `backup if it is the wrong one. ${RUN_AGAIN}`,
    );
  if (error instanceof LogUnavailable)
    return new CommandError(EXIT.unknown, `a log gave no answer: ${error.message}. ${RUN_AGAIN}`);
  if (error instanceof AppendTooLarge)
    return new CommandError(EXIT.refused, `the target refuses an event: ${error.message}.`);
  if (error instanceof UnknownEventType)
    return new CommandError(EXIT.refused, `${error.message}. Copy the log with that version.`);
  return error;
};

/** Makes the secrets of both ends the same, and opens their keys. */
const openKeys = async (source: SourceEnd, target: TargetEnd, root: Buffer) => {
  const stores = { from: source.keyring, to: target.keyring };
  const { vault } = await copyKeyring(stores, root);
  return { from: await source.keys(vault), to: await target.keys(vault) };
};

/** Copies the events and then the keys. Without `root` there are no keys to copy. */
const copyEverything = async (
  { from, to }: CopyUrls,
  root: Buffer | undefined,
): Promise<Copied> => {
  await using stack = new AsyncDisposableStack();
  let shown: ReturnType<typeof showPhases> | undefined;
  const opening = { stack, onOutage: () => shown?.stop() };
  const source = await openSource(from, opening);
  const target = await openTarget(to, opening);
  const vaults = root && (await openKeys(source, target, root));
  const { position } = await source.log.head();
  // The embedded log numbers its events; positions of EventStoreDB are bytes.
  const unit = directoryOf(from) === undefined ? 'bytes' : 'events';
  shown = showPhases(position, unit);
  const { update: onProgress, stop } = shown;
  try {
    const result = await copyLog(requiringReadable(source.log), target.log, { onProgress });
    if (!result.ok || !vaults?.from) return { result, keys: NO_KEYS };
    return { result, keys: await copyKeys(target.log, { from: vaults.from, to: vaults.to }) };
  } catch (error) {
    throw commandErrorOf(error);
  } finally {
    stop();
  }
};

/** Copies one log and its keys to another. */
export const copyLogs = async (
  from: string,
  to: string,
  options: { json?: boolean },
): Promise<void> => {
  for (const url of [from, to]) requireLogUrl(url);
  if (from === to || (directoryOf(from) ?? '') === directoryOf(to))
    throw new CommandError(EXIT.refused, `both are the same log. ${HINTS.same}`);
  // Required before anything is copied, so that a copy without its keys is never begun.
  const root = hasKeys(from) ? rootFor([from, to].map(directoryOf)) : undefined;
  const { result, keys } = await copyEverything({ from, to }, root);
  const urls = { from: redactUrl(from), to: redactUrl(to) };
  if (!result.ok) {
    const { fault, detail } = result;
    const text = `${urls.to} is not a copy of ${urls.from}: ${detail}. ${HINTS[fault]}`;
    const exit = fault === 'differs' ? EXIT.differs : EXIT.refused;
    throw new CommandError(exit, text, { ...urls, fault, detail });
  }
  if (keys.differing.length > 0)
    throw new CommandError(
      EXIT.differs,
      `every event was copied, but ${urls.to} already had another key of ` +
        `${formatPlural(keys.differing.length, 'subject')}: ${keys.differing.slice(0, 3).join(', ')}.`,
      { ...urls, fault: 'keys', subjects: keys.differing },
    );
  const { events, present, isBehind } = result;
  const copied = events - present;
  const report = { ...urls, events, copied, present, verified: true, behind: isBehind };
  const more = isBehind
    ? ' The source has new events: stop its service, and run this command again.'
    : '';
  printResult(
    options,
    { ...report, keys: keys.subjects, erased: keys.destroyed },
    `${formatPlural(events, 'event')} in ${urls.to}, each compared with ${urls.from}; ` +
      `${formatPlural(copied, 'event')} copied now, with the keys of ${formatPlural(keys.subjects, 'subject')}.${more}`,
  );
};

const faultText = (reason: string, events: number): string =>
  `the log is damaged: ${reason.replace(/\.$/, '')}. No accidental damage was found in ` +
  `${formatPlural(events, 'event')} before that.`;

/** Checksums show only accidents: a person who can write the file can also write fitting checksums. */
const successText = (events: number, { leaves }: TreeCheck): string => {
  const found = `${formatPlural(events, 'event')}: no accidental damage found.`;
  return leaves === 0
    ? `${found} Deliberate changes are not detected without proof.db or --checkpoint.`
    : `${found} The published tree of ${leaves} events is the tree of this log.`;
};

const treeFaultText = ({ position, reason }: TreeFault): string =>
  `the log was rewritten: at position ${position}, ${reason}. Its checksums fit, so this is no accident. Compare it with a backup.`;

/** Builds the tree of the log again, and compares it with the one in the directory, and with a checkpoint that was kept. */
const checkPublished = async (
  { dataDirectory }: Config,
  log: EventLog,
  { checkpoint }: VerifyOptions,
): Promise<TreeCheck> => {
  const path = join(dataDirectory, 'proof.db');
  const published = existsSync(path) ? sqliteProofStore(path) : undefined;
  const own = mkdtempSync(join(tmpdir(), 'tributary-tree-'));
  const scratch = sqliteProofStore(join(own, 'proof.db'));
  const kept = checkpoint === undefined ? undefined : readNote(checkpoint);
  try {
    return await checkTree(log, { published, scratch, kept });
  } catch (error) {
    if (!(error instanceof TreeDamaged)) throw error;
    throw new CommandError(
      EXIT.differs,
      `proof.db is damaged: ${error.message}. Remove it: the next start builds it again from the log.`,
    );
  } finally {
    published?.close();
    scratch.close();
    rmSync(own, { recursive: true });
  }
};

type VerifyOptions = CommonOptions & { checkpoint?: string };

/** Reads every byte of the log and looks for accidental damage, and for changes of what was published. */
export const verifyEvents = async (options: VerifyOptions): Promise<void> => {
  const config = configFor(options);
  const { dataDirectory: directory } = config;
  const server = await findServer(directory);
  if (server)
    throw new CommandError(
      EXIT.cannotStart,
      `a server (process ${server.pid}) runs on ${directory}, and reading the whole log would slow it ` +
        'down. Stop it first, or verify a copy of the directory.',
    );
  if (!hasLog(config)) throw noDataError(config);
  const logger = commandLogger(config.logLevel);
  // A copy without its secrets can also be verified.
  const opened = await openEventLog(config, { logger, directory: 'inspect', checkedAtOpen: 0 });
  try {
    const { position } = await opened.log.head();
    const bar = startProgress({ label: 'log', total: position, unit: 'positions' });
    const { events, fault } = await opened
      .verify((done) => bar.update(done))
      .finally(() => bar.stop());
    const report = { intact: fault === null, events, fault };
    if (fault) throw new CommandError(EXIT.differs, faultText(fault.reason, events), report);
    const tree = await checkPublished(config, opened.log, options);
    if (tree.fault)
      throw new CommandError(EXIT.differs, treeFaultText(tree.fault), {
        ...report,
        intact: false,
        fault: tree.fault,
      });
    const unreadable =
      isRemoteLog(config) || !existsSync(join(directory, 'keys.db'))
        ? null
        : await subjectsWithoutKey(join(directory, 'keys.db'), opened.log, 0);
    printResult(
      options,
      { ...report, unreadable_subjects: unreadable, published_leaves: tree.leaves },
      `${successText(events, tree)}${unreadable ? ` ${unreadableText(unreadable)}` : ''}`,
    );
  } finally {
    await opened.close();
  }
};
