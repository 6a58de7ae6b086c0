import type { Command } from 'commander';
import { LIMITS } from '#contracts/limits.ts';
import type { DeskRole } from '#contracts/scopes.ts';
import { everyPage } from '#src/app/read-models/listing.ts';
import { type Common, leaf, names, whole, write } from '../command.ts';
import { type Answer, atDesk } from '../desk/desk-client.ts';
import { finish, note, table } from '../terminal/output.ts';

const days = whole(1, LIMITS.KEY_DAYS_MAX);
const hours = whole(0, LIMITS.KEY_OVERLAP_HOURS_MAX);

/** The key alone on stdout, so that it can be piped into a secret store; all else beside it. */
const showKey = (options: Common, key: Answer<'issueKey'>): void => {
  if (!options.json)
    note(
      `Key ${key.id} of ${key.agent_id} (${key.environment}), until ${key.expires_at}. ` +
        'It is shown once, here:',
    );
  finish(options, key, key.api_key);
};

const keysText = ({ data }: Answer<'listKeys'>): string =>
  data.length === 0
    ? 'No keys.'
    : table([
        ['KEY', 'STATUS', 'AGENT', 'LOOKS LIKE', 'EXPIRES'],
        ...data.map(({ id, status, agent_id, prefix, last4, expires_at }) => [
          id,
          status,
          agent_id,
          `${prefix}_…${last4}`,
          expires_at,
        ]),
      ]);

type Issue = Common & { test?: boolean; days?: number };
type Rotate = Common & { days?: number; overlapHours?: number };
type Revoke = Common & { reason: string };

const issueAndRotate = (key: Command): void => {
  write(key, 'issue <agent>', 'issue a key for an approved agent; shown once')
    .option('--test', 'a key that acts in a space of its own')
    .option('--days <n>', `valid so long (default: ${LIMITS.KEY_DAYS_DEFAULT})`, days)
    .action(async (agent: string, options: Issue) => {
      const environment = options.test ? 'test' : 'live';
      const asked = { agent_id: agent, environment, expires_in_days: options.days } as const;
      showKey(options, await atDesk(options, (desk) => desk.call('issueKey', asked)));
    });
  write(key, 'rotate <key>', 'issue a new key; the old one goes on for a while')
    .option(
      '--overlap-hours <n>',
      `both work so long (default: ${LIMITS.KEY_OVERLAP_HOURS_DEFAULT})`,
      hours,
    )
    .option('--days <n>', `the new one is valid so long`, days)
    .action(async (id: string, options: Rotate) => {
      const { overlapHours, days: valid } = options;
      const asked = { key_id: id, overlap_hours: overlapHours, expires_in_days: valid };
      showKey(options, await atDesk(options, (desk) => desk.call('rotateKey', asked)));
    });
};

const tokens = (program: Command): void => {
  const token = program.command('token').description('credentials of people at the desk');
  write(token, 'issue', 'issue a desk token; shown once')
    .requiredOption('--name <name>', 'whose it is')
    .requiredOption('--roles <list>', 'owner, staff, auditor, operator', names)
    .option('--owner <id>', 'acts for this promoter only; the role is then owner')
    .option('--days <n>', 'valid so long (default: until it is revoked)', days)
    .action(
      async (
        options: Common & { name: string; roles: string[]; owner?: string; days?: number },
      ) => {
        const asked = {
          name: options.name,
          roles: options.roles as DeskRole[],
          owner_id: options.owner,
          expires_in_days: options.days,
        };
        const answer = await atDesk(options, (desk) => desk.call('issueDeskToken', asked));
        if (!options.json)
          note(`Token ${answer.id} for ${answer.name}: ${answer.roles.join(', ')}. Shown once:`);
        finish(options, answer, answer.token);
      },
    );
  write(token, 'revoke <token-id>', 'revoke a desk token for ever')
    .requiredOption('--reason <text>', 'kept in the history')
    .action(async (id: string, options: Revoke) => {
      const asked = { token_id: id, reason: options.reason };
      const answer = await atDesk(options, (desk) => desk.call('revokeDeskToken', asked));
      finish(options, answer, `Token ${answer.id} (${answer.name}) is ${answer.status}.`);
    });
};

/** Keys of agents and tokens of people, each shown once. */
export const keyCommands = (program: Command): void => {
  const key = program.command('key').description('API keys of agents');
  issueAndRotate(key);
  write(key, 'revoke <key>', 'revoke a key for ever, within a second')
    .requiredOption('--reason <text>', 'kept in the history')
    .action(async (id: string, options: Revoke) => {
      const asked = { key_id: id, reason: options.reason };
      const answer = await atDesk(options, (desk) => desk.call('revokeKey', asked));
      finish(options, answer, `Key ${answer.id} of ${answer.agent_id} is ${answer.status}.`);
    });
  leaf(key, 'list', "an owner's keys, without their secrets")
    .requiredOption('--owner <id>', 'the promoter')
    .action(async (options: Common & { owner: string }) => {
      const asked = { owner_id: options.owner, limit: LIMITS.PAGE_ROWS_MAX };
      const answer = await atDesk(options, (desk) =>
        everyPage((before) => desk.call('listKeys', { ...asked, before })),
      );
      finish(options, answer, keysText(answer));
    });
  tokens(program);
};
