import { type Command, InvalidArgumentError } from 'commander';
import { OUTBOUND_KINDS } from '#contracts/records/outbound.ts';
import { type Common, leaf, whole, write } from '../command.ts';
import { type Answer, type Asked, atDesk } from '../desk/desk-client.ts';
import { finish, table } from '../terminal/output.ts';

type Settings = Answer<'getOutreach'>;
type Channel = Asked<'configureOutreach'>['channels'][number];

const settingsText = (settings: Settings): string => {
  const { owner_id, mode, approvals_required, channels, halted, halted_for_everybody } = settings;
  const halt = halted ?? halted_for_everybody;
  if (mode === null) return `Nobody can approve outreach of ${owner_id}: nothing can be proposed.`;
  return [
    `Outreach of ${owner_id}: ${mode}, ${approvals_required} approval${approvals_required === 1 ? '' : 's'}` +
      (halt === null ? '' : `; HALTED: ${halt}`),
    table(
      channels.map(({ kind, adapter, url, disabled, webhook_secret }) => [
        `  ${kind}`,
        adapter,
        url ?? '',
        disabled === undefined ? '' : `disabled: ${disabled}`,
        webhook_secret ?? '',
      ]),
    ),
  ].join('\n');
};

/** 'message=webhook:https://…' as the registry takes it; `!` behind webhook: takes each id once. */
const channel = (text: string, before: Channel[] = []): Channel[] => {
  const [, kind = '', adapter = '', idempotent, url] =
    /^(\w+)=(file|a2a|webhook)(!)?(?::(.+))?$/.exec(text) ?? [];
  const known = OUTBOUND_KINDS.find((name) => name === kind);
  if (!known)
    throw new InvalidArgumentError(
      `It must be like social_post=file, message=webhook:https://… or agent_notification=a2a.`,
    );
  const made = {
    kind: known,
    adapter: adapter as Channel['adapter'],
    ...(url !== undefined && { url }),
    ...(idempotent !== undefined && { receiver_idempotent: true }),
  };
  return [...before, made];
};

type Configure = Common & {
  owner: string;
  mode: 'owner_controlled' | 'admin_approved';
  approvals?: number;
  channel: Channel[];
  rotateSecret?: boolean;
};

type Turn = Common & { owner?: string; reason: string };

const turns = (outreach: Command): void => {
  const verbs = [
    ['halt', 'haltOutreach', 'stop all outreach at once'],
    ['resume', 'resumeOutreach', 'let outreach go on'],
  ] as const;
  for (const [verb, operation, about] of verbs)
    write(outreach, verb, about)
      .option('--owner <id>', 'of one promoter (default: of everybody)')
      .requiredOption('--reason <text>', 'shown to whoever asks why')
      .action(async (options: Turn) => {
        const asked = { owner_id: options.owner, reason: options.reason };
        const answer = await atDesk(options, (desk) => desk.call(operation, asked));
        const whose = answer.owner_id ?? 'everybody';
        const text =
          answer.halted === null
            ? `Outreach of ${whose} goes on.`
            : `Outreach of ${whose} is halted: ${answer.halted}.`;
        finish(options, answer, text);
      });
};

/** Who approves an owner's outreach, where it goes, and the switch that stops it. */
export const outreachCommands = (program: Command): void => {
  const outreach = program
    .command('outreach')
    .description('who approves outreach, where it goes, and the switch that stops it');
  write(outreach, 'configure', "set an owner's approvers and channels, as a whole")
    .requiredOption('--owner <id>', 'the promoter')
    .requiredOption('--mode <mode>', 'owner_controlled or admin_approved')
    .option('--approvals <n>', 'people who must approve: 1 or 2 (default: 1)', whole(1, 2))
    .requiredOption(
      '--channel <kind=adapter>',
      'repeatable: social_post=file, message=webhook:https://…, agent_notification=a2a; ' +
        'webhook! for a receiver that takes each webhook-id once',
      channel,
    )
    .option('--rotate-secret', 'a new webhook secret; the one before signs for 24 hours, too')
    .action(async (options: Configure) => {
      const { owner, mode, approvals, rotateSecret } = options;
      const channels = options.channel.map((item) => ({
        ...item,
        ...(rotateSecret && { rotate_secret: true }),
      }));
      const asked = { owner_id: owner, mode, approvals_required: approvals, channels };
      const answer = await atDesk(options, (desk) => desk.call('configureOutreach', asked));
      finish(options, answer, settingsText(answer));
    });
  leaf(outreach, 'show', "an owner's approvers and channels")
    .requiredOption('--owner <id>', 'the promoter')
    .action(async (options: Common & { owner: string }) => {
      const asked = { owner_id: options.owner };
      const answer = await atDesk(options, (desk) => desk.call('getOutreach', asked));
      finish(options, answer, settingsText(answer));
    });
  turns(outreach);
};
