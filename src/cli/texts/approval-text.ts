/** Texts of outreach requests. Text of agents reaches a terminal as visible characters only. */
import type { Outbound } from '#contracts/outreach/outbound.records.ts';
import type { DeskAnswer } from '#src/cli/desk/desk-transport.ts';
import { style } from '../terminal/output.ts';
import { formatPage, formatSafely } from './answer-text.ts';

const SHA256_CHARS_SHOWN = 16;

const targetOf = ({ target }: Outbound): string =>
  Object.values(target)
    .filter((value) => value !== undefined)
    .join(' ');

const approvalsOf = ({ approval }: Outbound): string => {
  const given = approval.decisions.filter(({ decision }) => decision === 'approve').length;
  return `${given} of ${approval.required}`;
};

export const requestsText = ({ data, next_before }: DeskAnswer<'listApprovals'>): string => {
  const rows = data.map((request) => ({ ...request, approvals: approvalsOf(request) }));
  const columns = 'id status owner_id kind target schedule.not_after approvals';
  return formatPage({ data: rows, next_before }, columns);
};

export const requestText = (request: Outbound): string =>
  `${request.id} of ${request.owner_id} is ${request.status}.` +
  (request.status === 'pending_approval' ? `\n  ${approvalsOf(request)} approvals.` : '');

const decisionsText = ({ approval }: Outbound): string[] =>
  approval.decisions.map(({ at, by, name = by, role, decision, note }) => {
    const reason = note === undefined ? '' : `: ${formatSafely(note)}`;
    return `    ${at}  ${decision} by ${name} (${role})${reason}`;
  });

const factsText = (request: Outbound, sha256: string): string[] => {
  const { delivery, schedule, approval, status_reason: reason } = request;
  const facts = {
    status: request.status + (reason ? ` (${reason})` : ''),
    kind: request.kind,
    to: formatSafely(targetOf(request)),
    by: delivery.adapter,
    agent: request.agent_id,
    send: `${schedule.not_before ?? 'once approved'} to ${schedule.not_after}`,
    approval: `${approval.mode}, ${approvalsOf(request)}`,
    revision: String(request.revision),
    links: request.content.link_ids.join(' ') || 'none',
    sha256,
  };
  return Object.entries(facts).map(([name, value]) => `  ${name.padEnd(9)} ${value}`);
};

/** Formats everything that a person needs for a decision, with invisible characters made visible. */
export const approvalText = ({ request, exact }: DeskAnswer<'showApproval'>): string => {
  const { bytes, bytes_count, hidden, sha256, shown } = exact;
  const safe = formatSafely(bytes);
  const escaped = safe === bytes ? '' : ', with invisible characters as above';
  return [
    `${style('bold', request.id)} of ${request.owner_id}`,
    ...factsText(request, sha256),
    ...decisionsText(request),
    '',
    ...shown.split('\n').map((line) => `  | ${line}`),
    '',
    hidden.length === 0
      ? '  It has no invisible characters.'
      : `  ${style('yellow', `${hidden.length} invisible characters, written as ⟨U+…⟩ above:`)}`,
    ...hidden.map(
      ({ pointer, offset, code_point }) => `    ${pointer} at ${offset}: ${code_point}`,
    ),
    '',
    `  The ${bytes_count} bytes that would be sent${escaped}:`,
    `  ${safe}`,
    ...(request.status === 'pending_approval'
      ? [
          '',
          `  To approve exactly this: tributary approvals approve ${request.id} \\`,
          `    --sha256 ${sha256.slice(0, SHA256_CHARS_SHOWN)}`,
        ]
      : []),
  ].join('\n');
};
