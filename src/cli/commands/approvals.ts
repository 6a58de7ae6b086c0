import { createInterface } from 'node:readline/promises';
import { type Command, InvalidArgumentError } from 'commander';
import type { Outbound } from '#contracts/records/outbound.ts';
import { visible } from '#src/app/outreach/visible.ts';
import { type Common, leaf, whole, write } from '../command.ts';
import { type Answer, type Asked, atDesk, type Desk } from '../desk/desk-client.ts';
import { EXIT, Failure } from '../terminal/exit.ts';
import { finish, note, styled, table } from '../terminal/output.ts';

/** Nothing that an agent wrote reaches a terminal but as visible characters. */
const plain = (text: string): string => visible(text).shown.replaceAll('\n', '⟨U+000A⟩');

const targetOf = ({ target }: Outbound): string =>
  plain(
    Object.values(target)
      .filter((value) => value !== undefined)
      .join(' '),
  );

const listText = ({ data, next_before }: Answer<'listApprovals'>): string =>
  data.length === 0
    ? 'No outreach requests.'
    : `${requestsTable(data)}${next_before === null ? '' : `\nMore: --before ${next_before}`}`;

const requestsTable = (data: Outbound[]): string =>
  table([
    ['REQUEST', 'STATUS', 'OWNER', 'KIND', 'TO', 'UNTIL', 'APPROVALS'],
    ...data.map((request) => [
      request.id,
      request.status,
      request.owner_id,
      request.kind,
      targetOf(request),
      request.schedule.not_after,
      `${approvalsOf(request)} of ${request.approval.required}`,
    ]),
  ]);

const approvalsOf = ({ approval }: Outbound): number =>
  approval.decisions.filter(({ decision }) => decision === 'approve').length;

const decisionsText = ({ approval }: Outbound): string[] =>
  approval.decisions.map(
    ({ at, by, name, role, decision, note: why }) =>
      `    ${at}  ${decision} by ${name ?? by} (${role})${why === undefined ? '' : `: ${plain(why)}`}`,
  );

/** Everything that a person needs to decide, with nothing hidden left hidden. */
const approvalText = ({ request, exact }: Answer<'showApproval'>): string => {
  const { delivery, schedule, approval } = request;
  const rows: [string, string][] = [
    ['status', request.status + (request.status_reason ? ` (${request.status_reason})` : '')],
    ['kind', request.kind],
    ['to', targetOf(request)],
    ['by', delivery.adapter],
    ['agent', request.agent_id],
    ['send', `${schedule.not_before ?? 'once approved'} to ${schedule.not_after}`],
    ['approval', `${approval.mode}, ${approvalsOf(request)} of ${approval.required}`],
    ['revision', String(request.revision)],
    ['links', request.content.link_ids.join(' ') || 'none'],
    ['sha256', exact.sha256],
  ];
  const isPlain = plain(exact.bytes) === exact.bytes;
  const hidden = exact.hidden.map(
    ({ pointer, offset, code_point }) => `    ${pointer} at ${offset}: ${code_point}`,
  );
  return [
    `${styled('bold', request.id)} of ${request.owner_id}`,
    ...rows.map(([name, value]) => `  ${name.padEnd(9)} ${value}`),
    ...decisionsText(request),
    '',
    ...exact.shown.split('\n').map((line) => `  | ${line}`),
    '',
    hidden.length === 0
      ? '  Nothing in it is invisible.'
      : `  ${styled('yellow', `${hidden.length} invisible characters, written as ⟨U+…⟩ above:`)}`,
    ...hidden,
    '',
    `  The ${exact.bytes_count} bytes that would leave${isPlain ? '' : ', invisible ones written as above'}:`,
    `  ${plain(exact.bytes)}`,
    ...(request.status === 'pending_approval'
      ? [
          '',
          `  To approve exactly this: tributary approvals approve ${request.id} \\`,
          `    --sha256 ${exact.sha256.slice(0, 16)}`,
        ]
      : []),
  ].join('\n');
};

const outcomeText = (request: Outbound): string =>
  [
    `${request.id} of ${request.owner_id} is ${request.status}.`,
    ...(request.status === 'pending_approval'
      ? [`  ${approvalsOf(request)} of ${request.approval.required} approvals.`]
      : []),
  ].join('\n');

type Which = Common & { owner?: string };
type Decision = Which & { reason: string; note?: string; sha256?: string };

const HASH_CHARS = 64;

/** The content that is decided on: as named, by all of its hash or by the beginning, else as it is now. */
const boundTo = async (desk: Desk, id: string, options: Decision): Promise<string> => {
  const { sha256 = '', owner } = options;
  if (sha256.length === HASH_CHARS) return sha256;
  const shown = await desk.call('showApproval', { outbound_id: id, owner_id: owner });
  const now = shown.request.content_sha256;
  return now.startsWith(sha256) ? now : sha256.padEnd(HASH_CHARS, '0');
};

/** Nobody approves what they have not looked at: shown here, and asked. */
const seen = async (desk: Desk, id: string, options: Decision): Promise<string> => {
  if (!process.stdin.isTTY || options.json)
    throw new Failure(
      EXIT.usage,
      `say which content: look at it with tributary approvals show ${id}, and approve that with --sha256 HASH`,
    );
  const shown = await desk.call('showApproval', { outbound_id: id, owner_id: options.owner });
  note(approvalText(shown));
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const said = await terminal.question('\nApprove exactly this? [y/N] ');
  terminal.close();
  if (/^y(es)?$/i.test(said.trim())) return shown.request.content_sha256;
  throw new Failure(EXIT.refused, 'Nothing was approved.');
};

const owned = (command: Command): Command =>
  command.option('--owner <id>', 'the promoter, where it is known');

const hash = (text: string): string => {
  if (/^[0-9a-f]{12,64}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be the first 12 to 64 digits that show prints.');
};

const SHA256 = [
  '--sha256 <hex>',
  'of the content that was looked at, or its first 12 digits',
] as const;

const decisions = (approvals: Command): void => {
  owned(write(approvals, 'approve <request>', 'approve exactly this content'))
    .option(...SHA256, hash)
    .option('--note <text>', 'kept with the decision')
    .addHelpText('after', '\nWithout --sha256 it shows the content and asks, on a terminal.')
    .action(async (id: string, options: Decision) => {
      const answer = await atDesk(options, async (desk) =>
        desk.call('approveOutbound', {
          outbound_id: id,
          owner_id: options.owner,
          content_sha256: await (options.sha256 === undefined ? seen : boundTo)(desk, id, options),
          note: options.note,
        }),
      );
      finish(options, answer, outcomeText(answer));
    });
  const others = [
    ['refuse', 'refuseOutbound', 'refuse a request for good'],
    ['request-changes', 'requestOutboundChanges', 'send a request back to the agent'],
  ] as const;
  for (const [verb, operation, about] of others)
    owned(write(approvals, `${verb} <request>`, about))
      .option(...SHA256, hash)
      .requiredOption('--reason <text>', 'shown to the agent')
      .action(async (id: string, options: Decision) => {
        const answer = await atDesk(options, async (desk) =>
          desk.call(operation, {
            outbound_id: id,
            owner_id: options.owner,
            content_sha256: await boundTo(desk, id, options),
            reason: options.reason,
          }),
        );
        finish(options, answer, outcomeText(answer));
      });
};

const endings = (approvals: Command): void => {
  owned(write(approvals, 'cancel <request>', 'cancel a request that has not been sent'))
    .requiredOption('--reason <text>', 'shown to the agent')
    .action(async (id: string, options: Decision) => {
      const asked = { outbound_id: id, owner_id: options.owner, reason: options.reason };
      const answer = await atDesk(options, (desk) => desk.call('cancelOutbound', asked));
      finish(options, answer, outcomeText(answer));
    });
  owned(write(approvals, 'observe <request>', 'say what became of an unknown outcome'))
    .requiredOption('--outcome <word>', 'confirmed or failed')
    .requiredOption('--evidence <text>', 'what was seen, and where')
    .action(
      async (
        id: string,
        options: Which & { outcome: 'confirmed' | 'failed'; evidence: string },
      ) => {
        const { owner, outcome, evidence } = options;
        const asked: Asked<'observeOutbound'> = {
          outbound_id: id,
          owner_id: owner,
          outcome,
          evidence,
        };
        const answer = await atDesk(options, (desk) => desk.call('observeOutbound', asked));
        finish(options, answer, outcomeText(answer));
      },
    );
};

type List = Which & { status?: Outbound['status']; limit?: number; before?: number };

/** What waits for people: outreach that agents propose and nobody else may send. */
export const approvalCommands = (program: Command): void => {
  const approvals = program
    .command('approvals')
    .description('outreach that agents propose: look at the exact bytes, and decide');
  leaf(approvals, 'list', 'requests that wait for people, newest first')
    .option('--owner <id>', 'of one promoter (default: of all)')
    .option('--status <word>', 'with --owner also finished ones, for example confirmed')
    .option('--limit <n>', 'at most so many (default: 25)', whole(1, 100))
    .option('--before <n>', 'from below this place: next_before of the list before', whole(1, 1e15))
    .action(async (options: List) => {
      const { owner, status, limit, before } = options;
      const asked = { owner_id: owner, status, limit, before };
      const answer = await atDesk(options, (desk) => desk.call('listApprovals', asked));
      finish(options, answer, listText(answer));
    });
  owned(
    leaf(approvals, 'show <request>', 'one request, and the exact bytes that would leave'),
  ).action(async (id: string, options: Which) => {
    const asked = { outbound_id: id, owner_id: options.owner };
    const answer = await atDesk(options, (desk) => desk.call('showApproval', asked));
    finish(options, answer, approvalText(answer));
  });
  decisions(approvals);
  endings(approvals);
};
