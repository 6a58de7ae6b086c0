/** Submits or amends a lead for an agent. */
import { LIMITS } from '#contracts/limits.ts';
import type { EventData, EventOf, LeadEventType } from '#contracts/registries/events.ts';
import { isTestSpace } from '#contracts/spaces.ts';
import type { Deps, Handler, InputOf } from '#src/calls/handlers.ts';
import type { Secrets } from '#src/ports/system.ts';
import { isLiveLink, isLiveList, notLive, warned } from '#src/reading/live-sources.ts';
import { openTexts, sealAll } from '#src/sealing/sealed-texts.ts';
import { deriveMailboxKeys, maskingDeps } from '#src/sealing/suppression.ts';
import { mailToStaff } from '#src/sending/mail.ts';
import { type AgentCall, unkeyed } from '#src/shared/call.ts';
import { companyDomains } from '#src/shared/mailbox.ts';
import { type Refusal, refuse, done, isRefusal, refuseField } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { DAY_MS, iso, epoch } from '#src/shared/time.ts';
import {
  decideAndAppend,
  issue,
  type Attempted,
  changeStream,
  type RejectedBy,
  type StreamChange,
  traceOf,
  type Written,
  releaseAfterWrite,
} from '#src/writing/decide-and-append.ts';
import { stateOf, nameOf, handoffOf, linkOf } from '#src/writing/streams.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import { decideContactClaim, releaseClaim } from './claim-contact.ts';
import { knownContacts } from './claims.decider.ts';
import {
  type LeadContent,
  type LeadSource,
  type LeadState,
  lead,
  type LeadCommand,
  type LeadRejection,
} from './lead.decider.ts';
import { showLead } from './render-lead.ts';

/**
 * The number of contacts that are known already and that an agent can submit in a day, so that no agent can ask about
 * many people.
 */
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
const refuseManyKnown = async (
  { log }: Pick<Deps, 'log'>,
  call: AgentCall,
): Promise<Refusal | undefined> =>
  (await log.readStream(dayStream(call), MAX - 1, 1)).length > 0
    ? refuseUntilTomorrow(call)
    : undefined;

/** Counts a contact that is known already; the last one that is allowed alerts staff. */
const countKnown = async (
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

type HintFacts = {
  company?: { website?: string | undefined } | undefined;
  contact?: { email: string; phone?: string | undefined } | undefined;
};

/**
 * Keyed hashes of a lead's telephone and of the domains that tell its company; undefined if it has neither. Test
 * spaces have hashes of their own.
 */
const deriveHintKeys = (
  { mac }: Pick<Secrets, 'mac'>,
  ownerId: string,
  { contact, company }: HintFacts,
): EventData<'LeadSubmitted'>['hint_keys'] => {
  const space = isTestSpace(ownerId) ? 'test' : 'live';
  const keyOf = (kind: string, value: string): string =>
    mac('lead-hint', `${space}:${kind}:${value}`);
  const domains = companyDomains(contact?.email, company?.website);
  if (contact?.phone === undefined && domains.length === 0) return undefined;
  return {
    ...present({ phone: contact?.phone && keyOf('phone', contact.phone) }),
    domains: domains.map((domain) => keyOf('domain', domain)),
  };
};

type Input = InputOf<'submitLead'>;

export const submitLead: Handler<'submitLead'> = async (deps, input, call) => {
  const fault = findFieldConflict(input);
  if (fault) return fault;
  const name = nameOf('lead', call.ownerId, input.external_id);
  const leadId = `led_${name}`;
  const source = await findSource(deps, call, input);
  if (isRefusal(source)) return source;

  const stream = `${call.ownerId}-lead_${name}`;
  const written = await changeStream(deps, call, {
    stream,
    decider: lead,
    work: (change) =>
      input.withdraw
        ? withdraw(deps, call, { input, leadId, change })
        : submitOrAmend(deps, call, { input, leadId, source, change }),
  });
  if (!written.ok) return 'rejected' in written ? refuseLead(written) : written;
  if (written.replayOf !== undefined && (await isErased(deps, leadId))) return ERASED_LEAD;
  const { state } = written;
  await releaseAfterWrite(() =>
    state.state === 'withdrawn'
      ? releaseClaim(deps, call, state)
      : releaseReplaced(deps, call, { stream, ...written }),
  );
  const view = { ownerId: call.ownerId, at: state.updated_at };
  const shown = await showLead(maskingDeps(deps), state, view);
  const isReleased = written.before?.contact !== undefined && state.contact === undefined;
  return done(isReleased ? { ...shown, claim_released: true } : shown, {
    ...traceOf(written),
    ...(written.before !== undefined && { status: 200 }),
  });
};

/** How far ahead of ours the clock of a caller can be, in milliseconds. */
const CLOCK_SKEW_MS = 300_000;

const CONTACT_TAKEN = refuse(
  'state_conflict',
  'Another lead has this contact; this one stays as it is.',
);

const NO_LEAD = refuse('resource_not_found', 'No lead of yours has this external_id.');
const isErased = async ({ vault }: Deps, leadId: string) =>
  (await vault.knows(leadId)) === 'destroyed';
const ERASED_LEAD = refuse('resource_erased', 'The personal data of this lead was erased.');

const COMPANY_MISSING = {
  pointer: '/company',
  code: 'required',
  detail: 'a lead names a company',
};

/** Refuses combinations of fields that the schema cannot exclude. */
const findFieldConflict = (input: Input): Refusal | undefined => {
  if (input.withdraw) {
    const { company, contact, consent, interest } = input;
    return (company ?? contact ?? consent ?? interest)
      ? refuseField('/withdraw', 'not_together', 'a withdrawal changes nothing else')
      : undefined;
  }
  if (input.withdraw_reason !== undefined)
    return refuseField('/withdraw_reason', 'not_together', 'needs withdraw: true');
  if (input.contact && !input.consent)
    return refuse('consent_missing', 'A contact needs a lawful basis.', {
      errors: [
        ...(input.company ? [] : [COMPANY_MISSING]),
        { pointer: '/consent', code: 'required', detail: 'send basis and obtained_at' },
      ],
    });
  if (!input.company)
    return refuse('validation_failed', 'Some fields are not valid.', { errors: [COMPANY_MISSING] });
  const { kind, ref = '' } = input.source;
  const shape = kind === 'link' ? /^lnk_[0-9a-z]{24}$/ : /^hnd_[0-9a-z]{24}$/;
  return (kind === 'link' || kind === 'handoff') && !shape.test(ref)
    ? refuseField('/source/ref', 'required', `name the ${kind} by its id`)
    : undefined;
};

const refuseLead = (rejection: RejectedBy<LeadRejection>): Refusal =>
  rejection.rejected === 'source_fixed'
    ? refuseField('/source', 'fixed', rejection.detail)
    : refuseRejected(rejection, NO_LEAD);

/**
 * Releases the contact that an amendment replaced; also on a retry, because the first attempt may have failed before.
 * A contact that a later amendment restored stays claimed.
 */
const releaseReplaced = async (
  deps: Deps,
  call: AgentCall,
  { stream, before, state, replayOf }: Written<LeadState> & { stream: string },
): Promise<void> => {
  if (before?.contact === undefined || before.contact === state.contact) return;
  const now = replayOf === undefined ? state : await stateOf(deps, { stream, decider: lead });
  await releaseClaim(deps, call, { ...before, current: now?.contact });
};

type FoundSource = Pick<LeadSource, 'dims'> & { isLive: boolean };

const findLink = async (
  deps: Deps,
  call: AgentCall,
  id: string,
): Promise<FoundSource | undefined> => {
  const state = await linkOf(deps, call.ownerId, id);
  return state && { dims: state.dims, isLive: await isLiveLink(deps, call, state) };
};

const findList = async (
  deps: Deps,
  { ownerId, at }: AgentCall,
  id: string,
): Promise<FoundSource | undefined> => {
  const state = await handoffOf(deps, ownerId, id);
  return state && { dims: state.dims, isLive: isLiveList(state, at) };
};

/** Reads the link or handoff that the request names as the source of the lead. One that is not live is credited with nothing. */
const findSource = async (
  deps: Deps,
  call: AgentCall,
  { source: { kind, ref } }: Input,
): Promise<LeadSource | Refusal> => {
  const source = { kind, ...(ref !== undefined && { ref }) };
  const own = present({ client: call.client?.name });
  if (ref === undefined || (kind !== 'link' && kind !== 'handoff')) return { source, dims: own };
  const found = kind === 'link' ? await findLink(deps, call, ref) : await findList(deps, call, ref);
  if (!found)
    return refuse('resource_not_found', `There is no such ${kind}.`, {
      errors: [
        { pointer: '/source/ref', code: 'not_found', detail: `no ${kind} of yours has this id` },
      ],
    });
  if (!found.isLive) return { source, dims: own, ...warned([notLive(ref)]) };
  const dims = { ...found.dims, ...own };
  return { source, dims, ...(kind === 'link' ? { link_id: ref } : { handoff_id: ref }) };
};

type LeadChange = StreamChange<LeadState, LeadCommand, EventOf<LeadEventType>, LeadRejection>;
type Facts = { input: Input; leadId: string; change: LeadChange };

/**
 * Submits a new lead or amends the one that is stored, in this order: judges what was read, seals the personal texts, decides
 * on an amendment, claims the contact, and appends. An amendment that the lead rejects claims nothing.
 */
const submitOrAmend = async (
  deps: Deps,
  call: AgentCall,
  { source, ...facts }: Facts & { source: LeadSource },
): Promise<Attempted<LeadState, LeadRejection>> => {
  const { input, leadId, change } = facts;
  const { state } = change;
  const refusal = await judge(deps, call, facts);
  if (refusal) return refusal;

  const content = await sealContent(deps, facts);
  if (isRefusal(content)) return content;
  const keys = present({
    mailbox_keys: input.contact && deriveMailboxKeys(deps.secrets, input.contact.email),
    hint_keys: deriveHintKeys(deps.secrets, call.ownerId, input),
  });

  const amendment =
    state && change.decide({ type: 'AmendLead', at: call.at, content, from: source, ...keys });
  if (amendment && !amendment.ok) return amendment;

  const expiresAt = state?.claim_expires_at ?? call.at + LIMITS.LEAD_CLAIM_DAYS * DAY_MS;
  const claimed = await claimContact(deps, call, { leadId, contact: input.contact, expiresAt });
  if (isRefusal(claimed)) return claimed;
  const { clash, claims } = claimed;

  if (amendment) return clash === 'none' ? change.append(amendment, { claims }) : CONTACT_TAKEN;
  const submitted = {
    lead_id: leadId,
    agent_id: call.caller.agentId,
    external_id: input.external_id,
    ...source,
    claim_expires_at: expiresAt,
    ...content,
    ...keys,
  };
  return change.execute(issue({ type: 'SubmitLead', clash, lead: submitted }, { claims }));
};

/** Refuses what the state of the lead, the time and the other contacts of the agent do not allow. */
const judge = async (
  deps: Deps,
  call: AgentCall,
  { input, leadId, change: { state } }: Facts,
): Promise<Refusal | undefined> => {
  if (state && (await isErased(deps, leadId))) return ERASED_LEAD;
  if (input.consent && epoch(input.consent.obtained_at) > call.at + CLOCK_SKEW_MS)
    return refuseField('/consent/obtained_at', 'in_future', 'must not be in the future');
  return input.contact && refuseManyKnown(deps, call);
};

/** Decides on the claim of the contact, if there is one. Counts a contact that is known already, within a limit a day. */
const claimContact = async (
  deps: Deps,
  call: AgentCall,
  { leadId, contact, expiresAt }: { leadId: string; expiresAt: number } & Pick<Input, 'contact'>,
): Promise<Awaited<ReturnType<typeof decideContactClaim>> | Refusal> => {
  if (!contact) return { clash: 'none', claims: [] };
  const { email } = contact;
  const claimed = await decideContactClaim(deps, call, { leadId, email, expiresAt });
  const tooMany = claimed.clash === 'known' && (await countKnown(deps, call, { leadId, email }));
  return tooMany || claimed;
};

const withdraw = async (
  deps: Deps,
  call: AgentCall,
  { input: { withdraw_reason: reason }, leadId, change }: Facts,
): Promise<Attempted<LeadState, LeadRejection>> => {
  if (!change.state) return NO_LEAD;
  if (await isErased(deps, leadId)) return ERASED_LEAD;
  const sealed = await sealAll(deps.vault, leadId, { reason });
  if (sealed === null) return ERASED_LEAD;
  const sealedReason = present({ sealedReason: sealed.reason });
  return change.execute(issue({ type: 'WithdrawLead', at: call.at, ...sealedReason }));
};

/**
 * Makes the content of the lead with its personal texts sealed, before anything is decided or stored. A text that the
 * lead has already keeps its ciphertext, so that the decider can compare: each seal has a random nonce.
 */
const sealContent = async (
  { vault }: Deps,
  { input, leadId, change: { state } }: Facts,
): Promise<LeadContent | Refusal> => {
  const { company, contact, consent, interest, metadata } = input;
  if (!company) throw new Error('a lead without a company passed validation');
  const stored = { contact: state?.contact ?? '', note: state?.interest?.note ?? '' };
  const opened = await openTexts(vault, Object.values(stored));
  const seal = (text: string | undefined, ciphertext: string) => {
    if (text === undefined) return undefined;
    return opened(ciphertext) === text ? ciphertext : vault.seal(leadId, text);
  };
  const [sealedContact, note] = await Promise.all([
    seal(contact && JSON.stringify(contact), stored.contact),
    seal(interest?.note, stored.note),
  ]);
  if (sealedContact === null || note === null) return ERASED_LEAD;
  // Each member is required here, so that the compiler reports a new one that is not stored.
  const content: { [Member in keyof LeadContent]-?: LeadContent[Member] | undefined } = {
    company,
    consent,
    metadata,
    contact: sealedContact,
    interest: interest && { ...interest, ...present({ note }) },
  };
  return present(content) as LeadContent;
};
