/** Compares live rows with a fold of the log, and waits for the end. */
import { systemIds } from '#src/system/ids.ts';
import { withDesk } from '../desk/desk-client.ts';
import type { DeskAnswer } from '#src/cli/desk/desk-transport.ts';
import type { CommonOptions } from '../options.ts';
import { CommandError, EXIT, formatPlural, printResult, style } from '../terminal/output.ts';
import { askUntilDone } from '../terminal/progress.ts';
import { formatSafely } from '../texts/answer-text.ts';

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
      : [`  ${name}: ${formatSafely(one ?? '')} live, ${formatSafely(other ?? '')} by the log`];
  });
};

const differenceText = ({ difference, failure = 'the comparison failed' }: Checked): string => {
  if (!difference) return failure;
  const { read_model, scope, key, position, live, log, last_event: last } = difference;
  const value = (json: string | null): string => (json === null ? 'no row' : formatSafely(json));
  return [
    `${read_model} ${scope}/${key} differs from the log as of position ${position}:`,
    `  live  ${value(live)}`,
    `  log   ${value(log)}`,
    ...membersText(live, log),
    last
      ? `  last event  ${last.type} at position ${last.position} of ${last.stream}`
      : '  no event of the log changed it',
    'Rebuild it with: tributary projections rebuild ' + read_model,
  ].join('\n');
};

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
    throw new CommandError(EXIT.differs, differenceText(checked), checked);
  const { rows, position } = checked;
  const text = `${owner ?? 'All owners'}: ${formatPlural(rows, 'row')}, equal to a fold of the log as of position ${position}`;
  printResult(options, checked, `${style('green', '✓')} ${text}`);
};
