import { holdsAddress, PERSONAL } from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { LeadContent, LeadSource } from './lead-amendment.decider.ts';
import type { LeadState } from './lead-state.decider.ts';
import { lead, type LeadCommand, type LeadRejection } from './lead.decider.ts';
import {
  decideAndAppend,
  type RejectedBy,
  traceOf,
  type WithAppends,
  type Written,
} from '#src/writing/decide-and-append.ts';
import { stateOf } from '#src/writing/fold.ts';
import { nameOf } from '#src/writing/hash.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import type { AgentCall, Deps, Handler, InputOf } from '#src/calls/call.ts';
import { done, isRefusal, type Refusal, refuse, refuseField } from '#src/shared/outcome.ts';
import { deriveMailboxKeys } from '#src/sealing/mailbox-keys.ts';
import { openTexts, sealAll } from '#src/sealing/sealed-texts.ts';
import { maskingDeps } from '#src/sealing/suppression.ts';
import { handoffOf, linkOf } from '#src/writing/streams.ts';
import { present } from '#src/shared/present.ts';
import { DAY_MS, epoch } from '#src/shared/time.ts';
import { decideContactClaim, releaseAfterWrite, releaseClaim } from './claim-contact.ts';
import { countKnown, refuseManyKnown } from './known-contacts.ts';
import { deriveHintKeys } from './lead-hints.ts';
import { showLead } from './render-lead.ts';

type Input = InputOf<'submitLead'>;

export const submitLead: Handler<'submitLead'> = async (deps, input, call) => {
  const fault = findFieldConflict(input);
  if (fault) return fault;
  const name = nameOf('lead', call.ownerId, input.external_id);
  const leadId = `led_${name}`;
  const source = await findSource(deps, call, input);
  if (isRefusal(source)) return source;

  const stream = `${call.ownerId}-lead_${name}`;
  const written = await decideAndAppend(deps, call, {
    stream,
    decider: lead,
    command: (state) => makeCommand(deps, call, { input, state, leadId, source }),
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

const UNCLAIMED = { clash: 'none', claims: [] } as const;

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

/** Reads the link or handoff that the request names as the source of the lead. */
const findSource = async (
  deps: Deps,
  call: AgentCall,
  { source: { kind, ref } }: Input,
): Promise<LeadSource | Refusal> => {
  const source = { kind, ...(ref !== undefined && { ref }) };
  if (ref === undefined || (kind !== 'link' && kind !== 'handoff')) return { source, dims: {} };
  const record =
    kind === 'link'
      ? await linkOf(deps, call.ownerId, ref)
      : await handoffOf(deps, call.ownerId, ref);
  if (!record)
    return refuse('resource_not_found', `There is no such ${kind}.`, {
      errors: [
        { pointer: '/source/ref', code: 'not_found', detail: `no ${kind} of yours has this id` },
      ],
    });
  const { dims } = record;
  return { source, dims, ...(kind === 'link' ? { link_id: ref } : { handoff_id: ref }) };
};

type Facts = {
  input: Input;
  state: LeadState | undefined;
  leadId: string;
  source: LeadSource;
};

const makeCommand = async (
  deps: Deps,
  call: AgentCall,
  facts: Facts,
): Promise<LeadCommand | WithAppends<LeadCommand> | Refusal> => {
  const { input, state, leadId, source } = facts;
  if (state && (await isErased(deps, leadId))) return ERASED_LEAD;
  if (input.withdraw) return state ? makeWithdrawal(deps, call, facts) : NO_LEAD;
  // Checked for a new lead only: older leads can have an address in their external_id.
  if (!state && holdsAddress(input.external_id))
    return refuseField('/external_id', PERSONAL.code, PERSONAL.detail);
  if (input.consent && epoch(input.consent.obtained_at) > call.at + CLOCK_SKEW_MS)
    return refuseField('/consent/obtained_at', 'in_future', 'must not be in the future');
  const stopped = input.contact && (await refuseManyKnown(deps, call));
  if (stopped) return stopped;
  const content = await sealContent(deps, facts);
  if (isRefusal(content)) return content;
  const expiresAt = state?.claim_expires_at ?? call.at + LIMITS.LEAD_CLAIM_DAYS * DAY_MS;
  const keys = present({
    mailbox_keys: input.contact && deriveMailboxKeys(deps.secrets, input.contact.email),
    hint_keys: deriveHintKeys(deps.secrets, call.ownerId, input),
  });
  const amendment: LeadCommand = {
    type: 'AmendLead',
    at: call.at,
    content,
    from: source,
    ...keys,
  };
  const isAccepted = !state || lead.decide(state, amendment).accepted;
  const { contact } = input;
  const { clash, claims } =
    contact && isAccepted
      ? await decideContactClaim(deps, call, { leadId, email: contact.email, expiresAt })
      : UNCLAIMED;
  if (contact && clash === 'known') {
    const tooMany = await countKnown(deps, call, { leadId, email: contact.email });
    if (tooMany) return tooMany;
  }
  if (state)
    return clash === 'none'
      ? { command: amendment, claims }
      : refuse('state_conflict', 'Another lead has this contact; this one stays as it is.');
  const submitted = {
    lead_id: leadId,
    agent_id: call.caller.agentId,
    external_id: input.external_id,
    ...source,
    claim_expires_at: expiresAt,
    ...content,
    ...keys,
  };
  return { command: { type: 'SubmitLead', clash, lead: submitted }, claims };
};

const makeWithdrawal = async (
  { vault }: Deps,
  { at }: AgentCall,
  { input: { withdraw_reason: reason }, leadId }: Facts,
): Promise<LeadCommand | Refusal> => {
  const sealed = await sealAll(vault, leadId, { reason });
  if (sealed === null) return ERASED_LEAD;
  return { type: 'WithdrawLead', at, ...present({ sealedReason: sealed.reason }) };
};

/**
 * Makes the content of the lead with its personal texts sealed, before anything is decided or stored. A text that the
 * lead has already keeps its ciphertext, so that the decider can compare: each seal has a random nonce.
 */
const sealContent = async (
  { vault }: Deps,
  { input, state, leadId }: Facts,
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
