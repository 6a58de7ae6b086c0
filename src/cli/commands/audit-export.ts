/** Writes an owner's events to a file that answers audits by itself. */
import { statSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { AuditBody } from '#src/stores/audit-file-body.ts';
import { withDesk } from '../desk/desk-client.ts';
import type { DeskAnswer } from '#src/cli/desk/desk-transport.ts';
import type { CommonOptions } from '../options.ts';
import { CommandError, EXIT, formatPlural, printResult } from '../terminal/output.ts';
import { startProgress } from '../terminal/progress.ts';

type ExportOptions = CommonOptions & { owner: string; from?: string; to?: string; reason?: string };
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

/** Writes the body first, because the head has its hash; the file gets its name when it is complete. */
export const exportAudit = async (path: string, options: ExportOptions): Promise<void> => {
  const { owner, from, to, reason } = options;
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false)
    throw new CommandError(
      EXIT.refused,
      `${path} is not a file. Name a new file, or one to replace`,
    );
  const partial = `${path}.part`;
  const bodyPath = `${path}.body`;
  const body = new AuditBody();
  const people: Page['people'] = {};
  try {
    const last = await withDesk(options, async (desk) => {
      const out = await createFile(bodyPath);
      const bar = startProgress({ label: path, total: 0, unit: 'positions' });
      try {
        let request = { owner_id: owner, from, to, reason, after: undefined as number | undefined };
        for (;;) {
          const page: Page = await desk.call('auditExport', request);
          await out.writeFile(body.add(page.lines));
          Object.assign(people, page.people);
          bar.update(page.next_after ?? page.to.position, page.to.position);
          if (page.next_after === null) return page;
          // The first answer fixes the end, so that later pages do not move it.
          request = { ...request, to: String(page.to.position), after: page.next_after };
        }
      } finally {
        bar.stop();
        await out.close();
      }
    });
    const head = body.head({
      after: last.from.position,
      at: last.to.at,
      classifier_version: last.classifier_version,
      log: last.log,
      owner,
      people,
      ...(reason !== undefined && { reason }),
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
