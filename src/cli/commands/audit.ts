/** Commands that compare live rows with the log, and export an owner's history. */
import { createReadStream, readFileSync, statSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { withDesk } from '#src/cli/desk.ts';
import { commandFor, type CommonOptions } from '#src/cli/options.ts';
import {
  CommandError,
  EXIT,
  formatPlural,
  printResult,
  style,
  askUntilDone,
  startProgress,
} from '#src/cli/terminal.ts';
import { verdictText, verifyExport } from '#src/proof/verifier.ts';
import { visibleLine } from '#src/shared/visible.ts';
import type { Desk, DeskAnswer, DeskRequest } from '#src/cli/transport.ts';
import { AuditBody } from '#src/stores/audit-file.ts';
import { systemIds } from '#src/system/ids.ts';

type CheckOptions = CommonOptions & { owner?: string; all?: boolean; sample?: number };
type Checked = DeskAnswer<'auditCheck'>;

/** The members of two rows that differ, each with both values. */
const membersText = (live: string | null, log: string | null): string[] => {
  if (live === null || log === null) return [];
  const [has, wants] = [live, log].map((json) => JSON.parse(json) as Record<string, unknown>);
  const names = new Set([...Object.keys(has ?? {}), ...Object.keys(wants ?? {})]);
  return [...names].flatMap((name) => {
    const [one, other] = [has?.[name], wants?.[name]].map(
      (value) => JSON.stringify(value) ?? 'none',
    );
    return one === other
      ? []
      : [`  ${name}: ${visibleLine(one ?? '')} live, ${visibleLine(other ?? '')} by the log`];
  });
};

const differenceText = (
  { difference, failure = 'the comparison failed' }: Checked,
  options: CommonOptions,
): string => {
  if (!difference) return failure;
  const { read_model, scope, key, position, live, log, last_event: last } = difference;
  const value = (json: string | null): string => (json === null ? 'no row' : visibleLine(json));
  return [
    `${read_model} ${scope}/${key} differs from the log as of position ${position}:`,
    `  live  ${value(live)}`,
    `  log   ${value(log)}`,
    ...membersText(live, log),
    last
      ? `  last event  ${last.type} at position ${last.position} of ${last.stream}`
      : '  no event of the log changed it',
    `Rebuild it with: ${commandFor(`projections rebuild ${read_model}`, options)}`,
  ].join('\n');
};

/** Compares live rows with a fold of the log, and waits for the end. */
export const checkAudit = async (options: CheckOptions): Promise<void> => {
  const { owner, all, sample } = options;
  if ((owner === undefined) === (all === undefined))
    throw new CommandError(EXIT.usage, 'name one owner with --owner, or check all with --all');
  const run = systemIds().uuid();
  const about = { label: owner ?? 'all owners', unit: 'positions' };
  const checked = await withDesk(options, (desk) =>
    askUntilDone(about, () => desk.call('auditCheck', { owner_id: owner, sample, run })),
  );
  if (checked.difference || checked.failure !== undefined)
    throw new CommandError(EXIT.differs, differenceText(checked, options), checked);
  const { rows, position } = checked;
  const text = `${owner ?? 'All owners'}: ${formatPlural(rows, 'row')}, equal to a fold of the log as of position ${position}`;
  printResult(options, checked, `${style('green', '✓')} ${text}`);
};

type ExportOptions = CommonOptions & {
  owner: string;
  from?: string;
  to?: string;
  reason?: string;
  checkpoint?: string;
};
type Page = DeskAnswer<'auditExport'>;

const COPIED_BYTES = 1_048_576;

/** Opens a file that only its owner can read. */
const createFile = (path: string): Promise<FileHandle> => open(path, 'w', 0o600);

/** Writes the head and the body, with one buffer: each further one is memory until V8 collects it. */
const writeWhole = async (path: string, head: string, bodyPath: string): Promise<void> => {
  await using body = await open(bodyPath);
  await using file = await createFile(path);
  await file.writeFile(head);
  const bytes = Buffer.allocUnsafe(COPIED_BYTES);
  for (;;) {
    const { bytesRead } = await body.read(bytes);
    if (bytesRead === 0) return;
    await file.writeFile(bytes.subarray(0, bytesRead));
  }
};

export const readNote = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new CommandError(EXIT.usage, `${path} cannot be read: ${(error as Error).message}`);
  }
};

/** The size in a checkpoint that was kept. */
const sizeOf = (path: string): number => {
  const [, size] = /^.+\n([1-9]\d*)\n/.exec(readNote(path)) ?? [];
  if (size !== undefined) return Number(size);
  throw new CommandError(EXIT.usage, `${path} has no checkpoint: name a file of /proof/checkpoint`);
};

type Asked = Pick<DeskRequest<'auditExport'>, 'owner_id' | 'from' | 'to' | 'reason' | 'since'>;

/** Writes the lines of all pages. Returns the last page, the proof of the first one, and the names in all. */
const writeBody = async (
  desk: Desk,
  asked: Asked,
  { path, body }: { path: string; body: AuditBody },
) => {
  const people: Page['people'] = {};
  let proof: Page['proof'];
  const out = await createFile(path);
  const bar = startProgress({ label: path, total: 0, unit: 'positions' });
  try {
    let request = { ...asked, after: undefined as number | undefined };
    for (;;) {
      const page: Page = await desk.call('auditExport', request);
      await out.writeFile(body.add(page.lines));
      Object.assign(people, page.people);
      proof ??= page.proof;
      bar.update(page.next_after ?? page.to.position, page.to.position);
      if (page.next_after === null) return { ...page, people, proof };
      // The first answer fixes the end, so that later pages do not move it.
      request = { ...request, to: String(page.to.position), after: page.next_after };
    }
  } finally {
    bar.stop();
    await out.close();
  }
};

/**
 * Writes an owner's events to a file that answers audits by itself. Writes the body first, because the head has its
 * hash; the file gets its name when it is complete.
 */
export const exportAudit = async (path: string, options: ExportOptions): Promise<void> => {
  const { owner, from, to, reason, checkpoint } = options;
  const since = checkpoint === undefined ? undefined : sizeOf(checkpoint);
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false)
    throw new CommandError(
      EXIT.refused,
      `${path} is not a file. Name a new file, or one to replace`,
    );
  const partial = `${path}.part`;
  const bodyPath = `${path}.body`;
  const body = new AuditBody();
  const asked = { owner_id: owner, from, to, reason, since };
  try {
    const last = await withDesk(options, (desk) =>
      writeBody(desk, asked, { path: bodyPath, body }),
    );
    const { people, proof, skips } = last;
    const head = body.head({
      after: last.from.position,
      at: last.to.at,
      classifier_version: last.classifier_version,
      log: last.log,
      owner,
      people,
      ...(proof && { proof }),
      ...(reason !== undefined && { reason }),
      skips,
      up_to: last.to.position,
    });
    await writeWhole(partial, head, bodyPath);
    await rename(partial, path);
    const about = JSON.parse(head) as { head_sha256: string };
    printResult(
      options,
      about,
      `${path}: ${formatPlural(body.events, 'event')} of ${owner} up to position ${last.to.position}\n  SHA-256 ${about.head_sha256}`,
    );
  } catch (error) {
    if ((error as { syscall?: string }).syscall === undefined) throw error;
    throw new CommandError(EXIT.refused, `${path} cannot be written: ${(error as Error).message}`);
  } finally {
    await rm(bodyPath, { force: true });
    await rm(partial, { force: true });
  }
};

type VerifyFlags = CommonOptions & { key?: string[]; checkpoint?: string };

/** Verifies an exported file. The exit status is that of the verifier, which anybody can run without this program. */
export const verifyFile = async (path: string, options: VerifyFlags): Promise<void> => {
  const { key, checkpoint } = options;
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true)
    throw new CommandError(EXIT.usage, `${path} is no file`);
  const verdict = await verifyExport(createReadStream(path), {
    ...(key !== undefined && { keys: key }),
    ...(checkpoint !== undefined && { checkpoint: readNote(checkpoint) }),
  });
  if (verdict.status !== 0) throw new CommandError(verdict.status, verdictText(verdict), verdict);
  printResult(options, verdict, verdictText(verdict));
};
