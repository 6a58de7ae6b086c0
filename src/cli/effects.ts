/** What a command ends for good, shown before it runs, and the yes that it needs. */
import type { DeskOperationId } from '#contracts/registries/desk.ts';
import { chosenMatches } from '#src/shared/mailbox.ts';
import { rolesText } from '#src/shared/roles.ts';
import type { VerbOptions } from './verbs.ts';
import { ask, canAsk, CommandError, EXIT, formatPlural, isYes, printNotice } from './terminal.ts';
import type { Desk, DeskAnswer, DeskRequest } from './transport.ts';

/** The lines that say what happens, and the text to type in place of a yes. */
type Effect = { lines: readonly string[]; typed?: string };

type EffectOf<Id extends DeskOperationId> = (
  desk: Desk,
  request: Partial<DeskRequest<Id>>,
) => Effect | undefined | Promise<Effect | undefined>;

/** Reads what an effect names; undefined where the caller may not read it, or there is none: the operation itself says so. */
const lookUp = async <Id extends DeskOperationId>(
  desk: Desk,
  id: Id,
  request: DeskRequest<Id>,
): Promise<DeskAnswer<Id> | undefined> => {
  try {
    return await desk.call(id, request);
  } catch (error) {
    if (error instanceof CommandError && error.exit === EXIT.refused) return undefined;
    throw error;
  }
};

const requestEffect =
  (ending: string): EffectOf<'cancelOutbound'> =>
  async (desk, { outbound_id = '', owner_id }) => {
    const shown = await lookUp(desk, 'showApproval', { outbound_id, owner_id });
    const about = shown ? ` (${shown.request.kind}, ${shown.request.status})` : '';
    return { lines: [`Request ${outbound_id}${about} ${ending}. No later decision changes that.`] };
  };

const listEffect =
  (ending: string): EffectOf<'withdrawHandoff'> =>
  (_desk, { handoff_id, owner_id }) => ({
    lines: [
      `List ${handoff_id} of ${owner_id} ${ending}: its buyer can no longer send it, and an open RFQ ends. The ` +
        'buyer needs another list.',
    ],
  });

const keyText = ({ id, last4, environment, status }: DeskAnswer<'readKey'>): string =>
  `${id} (…${last4}, ${environment}, ${status})`;

const EFFECTS: { readonly [Id in DeskOperationId]?: EffectOf<Id> } = {
  async suspendAgent(desk, { agent_id = '' }) {
    const agent = await lookUp(desk, 'readAgent', { agent_id });
    if (!agent) return { lines: [`Agent ${agent_id} and all of its keys stop working.`] };
    const { name, owner_id, status, keys } = agent;
    return {
      lines: [
        `Agent ${name} (${agent_id}, ${status}) of ${owner_id} stops working within a second, with ${formatPlural(keys.length, 'key')}:`,
        ...keys.map((key) => `  ${keyText(key)}`),
        'The command access reinstate lifts the suspension.',
      ],
    };
  },
  async revokeKey(desk, { key_id = '' }) {
    const key = await lookUp(desk, 'readKey', { key_id });
    const about = key ? `${keyText(key)} of ${key.agent_id}, promoter ${key.owner_id},` : key_id;
    return { lines: [`Key ${about} stops working within a second, for good.`] };
  },
  async rotateKey(desk, { key_id = '', overlap_hours }) {
    if (overlap_hours !== 0) return undefined;
    const key = await lookUp(desk, 'readKey', { key_id });
    return {
      lines: [`Key ${key ? keyText(key) : key_id} stops working at once, without an overlap.`],
    };
  },
  revokeDeskToken: (_desk, { token_id }) => ({
    lines: [`Desk token ${token_id} stops working within a second, for good.`],
  }),
  async changePersonRoles(desk, { person_id = '', roles = [], owners = [] }) {
    const person = await lookUp(desk, 'readPerson', { person_id });
    const about = person ? `${person.name} (${person_id}, ${person.roles.join(', ')})` : person_id;
    return {
      lines: [
        `Person ${about} becomes ${rolesText({ roles, owners })}. All sessions of the person end within a second.`,
      ],
    };
  },
  async endPerson(desk, { person_id = '' }) {
    const person = await lookUp(desk, 'readPerson', { person_id });
    const about = person
      ? `${person.name} (${person_id}, ${rolesText(person)}), ${person.mailbox},`
      : person_id;
    return {
      lines: [
        `Person ${about} is ended: sessions, tokens and command lines stop working within a second. An invitation brings the person back.`,
      ],
    };
  },
  removePasskey: (_desk, { passkey_id }) => ({
    lines: [`Passkey ${passkey_id} no longer signs you in. Add another one at /me.`],
  }),
  unlinkAccount: (_desk, { issuer }) => ({
    lines: [`Your account of ${issuer} no longer signs you in, until you are invited again.`],
  }),
  withdrawProduct: (_desk, { sku }) => ({
    lines: [
      `Product ${sku} leaves search, pages and landing pages. Buyers who have it on a list see the reason, and cannot ask for ` +
        'more of it. An import of the sku offers it again.',
    ],
  }),
  async removeOwnerProfile(desk, { owner_id = '' }) {
    const profile = await lookUp(desk, 'readOwnerProfile', { owner_id });
    const about = profile ? `: ${profile.name}, ${profile.mailbox}` : '';
    return {
      lines: [
        `The profile of ${owner_id}${about} cannot be read any more, and its queued notices are not sent.`,
      ],
    };
  },
  haltOutreach: (_desk, { owner_id }) =>
    owner_id === undefined
      ? {
          lines: [
            'All outreach and all mail of every promoter stop until the command outreach resume. Confirmation links and notices ' +
              'for buyers also wait.',
          ],
        }
      : undefined,
  refuseOutbound: requestEffect('is refused'),
  cancelOutbound: requestEffect('is canceled'),
  withdrawHandoff: listEffect('is withdrawn'),
  invalidateHandoff: listEffect('becomes invalid'),
  disableLink: (_desk, { link_id, owner_id }) => ({
    lines: [
      `Link ${link_id} of ${owner_id} stops redirecting visitors and counts no more visits. It cannot be enabled again.`,
    ],
  }),
  async eraseSubject(desk, { subject = '', owner_id }) {
    const record = await lookUp(desk, 'auditTrace', { id: subject, owner_id });
    const last = record?.events.at(-1);
    return {
      lines: [
        ...(record && last
          ? [`${subject} of ${record.owner_id}: last change ${last.type} at ${last.at}.`]
          : []),
        `The key of ${subject} is destroyed: its contact, notes and reasons cannot be read any more, here or in any copy of ` +
          'the log. An open RFQ ends. Numbers and types of events stay.',
      ],
      typed: subject,
    };
  },
  async erasePersonalData(desk, { mailbox = '', proof = '', folded = [] }) {
    const found = await lookUp(desk, 'findPersonalData', { mailbox, proof });
    const records = chosenMatches(found?.data ?? [], folded).filter(({ erased }) => !erased);
    return {
      lines: [
        found
          ? `${formatPlural(records.length, 'record')} of ${mailbox}:`
          : `All records of ${mailbox}:`,
        ...records.map(({ id, owner_id }) => `  ${id} of ${owner_id}`),
        'Their keys are destroyed: the personal data cannot be read any more, here or in any copy of the log. Open RFQs end.',
      ],
      typed: mailbox,
    };
  },
  acceptClock: () => ({
    lines: [
      'The clock of the server becomes the time of the log for good, although an event is ahead of it: credentials expire by ' +
        'the clock again. If the clock is wrong, set it instead.',
    ],
  }),
};

/** Shows an effect on a terminal, and asks for a yes, or for the id where one must be typed. */
export const isAgreed = async ({ lines, typed }: Effect): Promise<boolean> => {
  printNotice(lines.join('\n'));
  return typed === undefined
    ? isYes(await ask('Do it? [y/N] '))
    : (await ask(`Type ${typed} to do it: `)) === typed;
};

/** Whether a command of this operation may ask, so that it has `--yes`. */
export const mayAsk = (id: string): boolean => id in EFFECTS;

/**
 * Shows what a command ends for good, and asks on a terminal whether to do it. `--yes` answers in a script. Throws
 * CommandError, with nothing done, after another answer, and where there is no terminal to ask on.
 */
export const confirmEffect = async (
  desk: Desk,
  id: DeskOperationId,
  { request, options }: { request: object; options: VerbOptions },
): Promise<void> => {
  if (options.yes) return;
  const effect = await EFFECTS[id]?.(desk, request);
  if (effect) await requireAgreement(effect, options);
};

/** Throws CommandError unless a person on a terminal agrees. */
export const requireAgreement = async (
  effect: Effect,
  options: Parameters<typeof canAsk>[0],
): Promise<void> => {
  if (!canAsk(options)) {
    const detail = effect.lines.join('\n');
    throw new CommandError(
      EXIT.usage,
      `${detail}\nNothing was done. Repeat the command with --yes to do it.`,
      { code: 'confirmation_needed', detail },
    );
  }
  if (!(await isAgreed(effect))) throw new CommandError(EXIT.refused, 'Nothing was done.');
};
