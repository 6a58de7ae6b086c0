/** Bounds how many contacts an agent can submit that are known already, so that no agent can ask about many people. */
import { LIMITS } from '#contracts/limits.ts';
import { knownContacts } from './known-contacts.decider.ts';
import { decideAndAppend, issue } from '#src/writing/decide-and-append.ts';
import type { Deps } from '#src/calls/call.ts';
import { type AgentCall, unkeyed } from '#src/shared/call.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';
import { deriveMailboxKeys } from '#src/sealing/mailbox-keys.ts';
import { DAY_MS, iso } from '#src/shared/time.ts';
import { mailToStaff } from '#src/sending/queue-mail.ts';

const MAX = LIMITS.KNOWN_CONTACTS_PER_DAY_MAX;

/** The stream of the agent and the day, in UTC. */
const dayStream = ({ ownerId, caller, at }: AgentCall): string =>
  `${ownerId}-known_${caller.agentId}_${iso(at).slice(0, 10).replaceAll('-', '')}`;

const refuseUntilTomorrow = ({ at }: AgentCall): Refusal =>
  refuse(
    'rate_limited',
    `This agent submitted ${MAX} contacts today that are known already, and can submit no more contacts until midnight UTC. ` +
      'Leads without a contact are accepted.',
    { retryAfterS: Math.ceil((DAY_MS - (at % DAY_MS)) / 1_000) },
  );

/** Refuses any contact of an agent that has reached the limit today. */
export const refuseManyKnown = async (
  { log }: Pick<Deps, 'log'>,
  call: AgentCall,
): Promise<Refusal | undefined> =>
  (await log.readStream(dayStream(call), MAX - 1, 1)).length > 0
    ? refuseUntilTomorrow(call)
    : undefined;

/** Counts a contact that is known already; the last one that is allowed alerts staff. */
export const countKnown = async (
  deps: Deps,
  call: AgentCall,
  { leadId, email }: { leadId: string; email: string },
): Promise<Refusal | undefined> => {
  const agent_id = call.caller.agentId;
  const { address } = deriveMailboxKeys(deps.secrets, email);
  const counted = await decideAndAppend(deps, unkeyed(call), {
    stream: dayStream(call),
    decider: knownContacts,
    command(state) {
      const isLast = state?.size === MAX - 1;
      const facts = { owner_id: call.ownerId, agent_id, contacts: MAX };
      const known = { agent_id, lead_id: leadId, address };
      return issue(
        { type: 'CountKnown' as const, known, max: MAX },
        isLast
          ? {
              effects: () =>
                mailToStaff(deps, call, { kind: 'contacts_stopped', record: agent_id, facts }),
            }
          : {},
      );
    },
  });
  if (counted.ok) return undefined;
  return 'rejected' in counted ? refuseUntilTomorrow(call) : counted;
};
