/** Follows the acts of an owner. */
import { setTimeout as pause } from 'node:timers/promises';
import { LIMITS } from '#contracts/limits.ts';
import { everyPage } from '#src/app/read-models/listing.ts';
import type { Desk, DeskAnswer, DeskRequest } from '../desk/desk-client.ts';
import { formatTable, print, printNotice } from '../terminal/output.ts';
import { actCells } from '../texts/audit-text.ts';

type Answer = DeskAnswer<'auditHistory'>;

const POLL_EVERY_MS = 500;

/** Prints the acts after an answer, oldest first, until the command is interrupted. */
export const followActs = async (
  desk: Desk,
  request: Partial<DeskRequest<'auditHistory'>>,
  { answer, isJson }: { answer: Answer; isJson: boolean },
): Promise<void> => {
  if (!desk.server) {
    printNotice('No server runs on this directory, so there is nothing to follow.');
    return;
  }
  const stopping = new AbortController();
  const { signal } = stopping;
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
  const { owner_id = '', to: _end, ...filters } = request;
  for (let from = answer.as_of.position; !signal.aborted; ) {
    const page = { ...filters, owner_id, limit: LIMITS.PAGE_ROWS_MAX, from: String(from) };
    const later = await everyPage((before) => desk.call('auditHistory', { ...page, before }));
    const acts = later.data.toReversed();
    if (isJson) for (const act of acts) print(JSON.stringify(act));
    else if (acts.length > 0) print(formatTable(acts.map(actCells)));
    // Not the position of the last page: acts may have come since the first one.
    from = Math.max(from, acts.at(-1)?.position ?? 0);
    await pause(POLL_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
};
