import { type Command, InvalidArgumentError } from 'commander';
import { minorUnits } from '#src/app/catalog/feed-cells.ts';
import { type Common, write } from '../command.ts';
import { type Answer, type Asked, atDesk } from '../desk/desk-client.ts';
import { finish } from '../terminal/output.ts';

type Money = { amount: number; currency: string };

/** '129.50 GBP' in minor units, exactly. */
const money = (text: string): Money => {
  const [, amount = '', currency = ''] = /^(\S+) ([A-Z]{3})$/.exec(text.trim()) ?? [];
  const minor = currency === '' ? undefined : minorUnits(amount, currency);
  if (typeof minor === 'number') return { amount: minor, currency };
  throw new InvalidArgumentError('It must be like "129.50 GBP".');
};

const REASON = 'kept in the history';
const OWNER = 'the promoter whose it is';

const stateText = ({ id, owner_id, state }: Answer<'moveLead'>): string =>
  `${id} of ${owner_id} is ${state}.`;

type Move = Common & { owner: string; to: string; reason?: string; value?: Money };

const lead = (program: Command): void => {
  write(
    program.command('lead').description('leads'),
    'move <lead>',
    'move a lead to its next state',
  )
    .requiredOption('--owner <id>', OWNER)
    .requiredOption(
      '--to <state>',
      'accepted, rejected, duplicate, contacted, qualified, unqualified, won or lost',
    )
    .option('--reason <text>', REASON)
    .option('--value <money>', 'what a won lead is worth, like "129.50 GBP"', money)
    .action(async (id: string, { owner, to, reason, value, ...options }: Move) => {
      const asked = { lead_id: id, owner_id: owner, to, reason, value } as Asked<'moveLead'>;
      const answer = await atDesk(options, (desk) => desk.call('moveLead', asked));
      finish(options, answer, stateText(answer));
    });
};

const CLOSINGS = [
  {
    group: 'handoff',
    about: 'lists for buyers',
    verbs: [
      ['withdraw', 'withdrawHandoff', 'withdraw a handoff that the buyer has not answered'],
      ['invalidate', 'invalidateHandoff', 'invalidate a handoff: a rule forbids it'],
    ],
    field: 'handoff_id',
  },
  {
    group: 'link',
    about: 'attributed links',
    verbs: [['disable', 'disableLink', 'disable a link: it leads nowhere from now on']],
    field: 'link_id',
  },
] as const;

const closings = (program: Command): void => {
  for (const { group, about, verbs, field } of CLOSINGS) {
    const parent = program.command(group).description(about);
    for (const [verb, operation, does] of verbs)
      write(parent, `${verb} <${group}>`, does)
        .requiredOption('--owner <id>', OWNER)
        .requiredOption('--reason <text>', REASON)
        .action(async (id: string, options: Common & { owner: string; reason: string }) => {
          const asked = { [field]: id, owner_id: options.owner, reason: options.reason };
          const answer = await atDesk(options, (desk) =>
            desk.call(operation, asked as unknown as Asked<typeof operation>),
          );
          finish(options, answer, stateText(answer));
        });
  }
};

const KEY_STATES = {
  destroyed: 'its key is destroyed: what was personal is noise from here on',
  never: 'it had no key, since nothing of it was sealed',
};

/** What no key takes along. */
const inClearText = (events: number): string =>
  events === 0
    ? ''
    : ` ${events} older ${events === 1 ? 'event keeps' : 'events keep'} what somebody wrote in clear: ` +
      'it stays in the log and its backups, and nothing shows it any more.';

/** What staff and operators do to single records. */
export const recordCommands = (program: Command): void => {
  lead(program);
  closings(program);
  write(program, 'erase <subject>', 'destroy the key of a lead’s or a handoff’s personal data')
    .option('--owner <id>', `${OWNER} (default: found in the log)`)
    .option(
      '--reason <text>',
      `${REASON}, readable for ever: name nobody`,
      'Erasure was asked for.',
    )
    .action(async (subject: string, options: Common & { owner?: string; reason: string }) => {
      const asked = { subject, owner_id: options.owner, reason: options.reason };
      const answer = await atDesk(options, (desk) => desk.call('eraseSubject', asked));
      const text = `${subject}: ${KEY_STATES[answer.key]}.${inClearText(answer.in_clear)}`;
      finish(options, answer, text);
    });
};
