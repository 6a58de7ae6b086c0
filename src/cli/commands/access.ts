import type { Command } from 'commander';
import { LIMITS } from '#contracts/limits.ts';
import type { AgentRecord } from '#contracts/records/access.ts';
import type { Scope } from '#contracts/scopes.ts';
import { everyPage } from '#src/app/read-models/listing.ts';
import { type Common, leaf, names, write } from '../command.ts';
import { type Answer, type Asked, atDesk } from '../desk/desk-client.ts';
import { finish, table } from '../terminal/output.ts';

/** A name that is asked for is decided on, too: buyers read it. */
const askedText = ({ name, pending, requested_scopes }: AgentRecord): string =>
  requested_scopes.join(',') + (pending && pending.name !== name ? ` as "${pending.name}"` : '');

const agentText = (agent: AgentRecord): string => {
  const { id, owner_id, name, status, pending, granted_scopes, reason } = agent;
  return [
    `${id}  ${name}, agent of ${owner_id}: ${status}`,
    `  may: ${granted_scopes.join(', ') || 'nothing yet'}`,
    ...(pending ? [`  asks for: ${askedText(agent)}`] : []),
    ...(reason === undefined ? [] : [`  reason: ${reason}`]),
  ].join('\n');
};

const agentsText = ({ data }: Answer<'listAgents'>): string =>
  data.length === 0
    ? 'No agents.'
    : table([
        ['AGENT', 'STATUS', 'NAME', 'MAY', 'ASKED FOR'],
        ...data.map((agent) => [
          agent.id,
          agent.status,
          agent.name,
          agent.granted_scopes.join(',') || '-',
          askedText(agent),
        ]),
      ]);

type Request = Common & {
  owner: string;
  name: string;
  purpose: string;
  scopes: string[];
  agent?: string;
};

const request = (access: Command): void => {
  write(access, 'request', 'ask for access for an agent')
    .requiredOption('--owner <id>', 'the promoter that it acts for')
    .requiredOption('--name <name>', 'what people call the agent')
    .requiredOption('--purpose <text>', 'what it is for')
    .requiredOption('--scopes <list>', 'for example products:read,links:write', names)
    .option('--agent <id>', 'ask for other scopes for an agent that exists')
    .action(async (options: Request) => {
      const asked: Asked<'requestAccess'> = {
        owner_id: options.owner,
        name: options.name,
        purpose: options.purpose,
        scopes: options.scopes as Scope[],
        agent_id: options.agent,
      };
      const answer = await atDesk(options, (desk) => desk.call('requestAccess', asked));
      finish(options, answer, agentText(answer));
    });
};

type Decision = Common & { reason: string; scopes?: string[] };

const DECISIONS = {
  approve: { id: 'approveAccess', about: 'approve a request, with all or some of its scopes' },
  deny: { id: 'denyAccess', about: 'refuse a request' },
  suspend: { id: 'suspendAgent', about: 'suspend an agent: its keys stop within a second' },
  reinstate: { id: 'reinstateAgent', about: 'lift a suspension' },
} as const;

const decisions = (access: Command): void => {
  for (const [verb, { id, about }] of Object.entries(DECISIONS)) {
    const command = write(access, `${verb} <agent>`, about).requiredOption(
      '--reason <text>',
      'shown to whoever asks why',
    );
    if (verb === 'approve')
      command.option('--scopes <list>', 'some of what was requested (default: all)', names);
    command.action(async (agentId: string, options: Decision) => {
      const answer = await atDesk(options, (desk) =>
        desk.call(id, { agent_id: agentId, reason: options.reason, ...scopesOf(options) }),
      );
      finish(options, answer, agentText(answer));
    });
  }
};

const scopesOf = ({ scopes }: Decision) => scopes && { scopes: scopes as Scope[] };

/** An agent's review, from the request to its suspension. */
export const accessCommands = (program: Command): void => {
  const access = program.command('access').description('review which agents may act');
  request(access);
  decisions(access);
  leaf(access, 'list', "an owner's agents, newest first")
    .requiredOption('--owner <id>', 'the promoter')
    .action(async (options: Common & { owner: string }) => {
      const asked = { owner_id: options.owner, limit: LIMITS.PAGE_ROWS_MAX };
      const answer = await atDesk(options, (desk) =>
        everyPage((before) => desk.call('listAgents', { ...asked, before })),
      );
      finish(options, answer, agentsText(answer));
    });
};
