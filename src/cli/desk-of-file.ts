/** The desk of an exported file: it answers audits, and nothing else. */
import { createReadStream } from 'node:fs';
import type { DeskOperationId } from '#contracts/registries/desk.ts';
import { askFile, isFileAudit } from '#src/audits/file-desk.ts';
import { verdictText, verifyExport } from '#src/proof/verifier.ts';
import { AuditFileDamaged } from '#src/stores/audit-file.ts';
import { systemIds } from '#src/system/ids.ts';
import { problemBody } from '#src/web/problem.ts';
import { type OpenedAuditFile, openFileForAudits } from '#src/wiring/audit-file.ts';
import { problemError } from './problem-text.ts';
import { startProgress, CommandError, EXIT, printNotice } from './terminal.ts';
import type { Transport } from './transport.ts';

/** Refuses a file with records that its checkpoint does not prove, and says that a range is one. */
const requireProved = async (path: string): Promise<void> => {
  const verdict = await verifyExport(createReadStream(path));
  const { status, isProved, line, reason = '' } = verdict;
  if (!isProved)
    throw new CommandError(EXIT.differs, `${path} is refused, ${verdictText(verdict)}`, {
      code: 'file_damaged',
      line,
      detail: reason,
    });
  if (status !== 0) printNotice(`${path}: ${reason}`);
};

/** Opens a file with a progress bar. A damaged file is a difference that the command has found. */
const openFileOrEnd = async (path: string): Promise<OpenedAuditFile> => {
  const bar = startProgress({ label: path, total: 0, unit: 'events' });
  try {
    await requireProved(path);
    return await openFileForAudits(path, (events, total) => bar.update(events, total));
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof AuditFileDamaged)
      throw new CommandError(EXIT.differs, `${path} is refused, ${message}`, {
        code: 'file_damaged',
        line: error.line,
        detail: message,
      });
    if ((error as { code?: string }).code === undefined) throw error;
    throw new CommandError(EXIT.usage, `${path} cannot be read: ${message}`);
  } finally {
    bar.stop();
  }
};

export const deskOfFile = async (path: string): Promise<Transport> => {
  const { file, deps } = await openFileOrEnd(path);
  const ids = systemIds();
  return {
    async send(id: DeskOperationId, input) {
      if (!isFileAudit(id)) throw new CommandError(EXIT.usage, `a file does not answer ${id}`);
      const requestId = ids.uuid();
      const outcome = await askFile(deps, id, { input, requestId });
      if (outcome.ok) return outcome.value;
      throw problemError(problemBody(outcome, { origin: 'file:', requestId }), { operation: id });
    },
    close: async () => file.close(),
  };
};
