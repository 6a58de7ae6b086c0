/** Follows the acts of an owner. */
import { LIMITS } from '#contracts/limits.ts';
import { DESK } from '#src/calls/audit.ts';
import { everyPage } from '#src/reading/listing.ts';
import type { Desk, DeskAnswer, DeskRequest } from '#src/cli/desk/desk-transport.ts';
import { followUntilInterrupted } from '../terminal/follow.ts';
import { CommandError, EXIT, formatTable, print, printNotice } from '../terminal/output.ts';
import { actCells } from '../texts/audit-text.ts';
import type { VerbOptions } from './verb.ts';

type Answer = DeskAnswer<'auditHistory'>;

/** Refuses to follow the history of the desk, which gets a new act by each look at it. */
export const requireFollowable = (
  _desk: Desk,
  request: Partial<DeskRequest<'auditHistory'>>,
  { follow }: VerbOptions,
): Partial<DeskRequest<'auditHistory'>> => {
  if (!follow || request.owner_id !== DESK) return request;
  throw new CommandError(
    EXIT.usage,
    `the history of ${DESK} cannot be followed, because each look at it is a new act there. Use tributary events tail --owner ${DESK} --follow`,
  );
};

/**
 * Prints the acts after an answer, oldest first, until the command is interrupted. It asks for acts when the owner has a
 * new event only, because each audit is an event of the log itself.
 */
export const followActs = async (
  desk: Desk,
  request: Partial<DeskRequest<'auditHistory'>>,
  { answer, options }: { answer: Answer; options: VerbOptions },
): Promise<void> => {
  const { owner_id = '', to: _end, ...filters } = request;
  if (options.file !== undefined) {
    printNotice('Nothing is added to a file, so there is nothing to follow.');
    return;
  }
  if (!desk.server) {
    printNotice('No server runs on this directory, so there is nothing to follow.');
    return;
  }
  let from = answer.as_of.position;
  await followUntilInterrupted(async () => {
    const [newest] = (await desk.call('listHistory', { owner_id, limit: 1 })).data;
    if (!newest || newest.position <= from) return;
    const page = { ...filters, owner_id, limit: LIMITS.PAGE_ROWS_MAX, from: String(from) };
    const later = await everyPage((before) => desk.call('auditHistory', { ...page, before }));
    const acts = later.data.toReversed();
    if (options.json) for (const act of acts) print(JSON.stringify(act));
    else if (acts.length > 0) print(formatTable(acts.map(actCells)));
    // Not the position of the last page: acts may have come since the first one.
    from = Math.max(newest.position, acts.at(-1)?.position ?? 0);
  });
};
