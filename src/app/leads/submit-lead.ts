import { holdsAddress, PERSONAL } from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { LeadState } from '#src/domain/lead-state.ts';
import { lead, type LeadCommand, type LeadRejection } from '#src/domain/lead.ts';
import type { LeadContent, LeadSource } from '#src/domain/lead-amendment.ts';
import type { AgentCall } from '../pipeline/call.ts';
import { claimContact, releaseAfterWrite, releaseClaim } from './claim-contact.ts';
import type { RejectedBy, Written } from '../events/decide-and-append.ts';
import { decideAndAppend, traceOf } from '../events/decide-and-append.ts';
import { stateOf } from '../events/fold.ts';
import type { Deps } from '../pipeline/deps.ts';
import type { Handler, InputOf } from '../pipeline/agent-handler.ts';
import { nameOf } from '../events/hash.ts';
import { done, type Refusal, refuse } from '../pipeline/outcome.ts';
import { sealAll } from '../privacy/sealed-texts.ts';
import { showLead } from './render-lead.ts';
import { present } from '../shared/present.ts';
import { handoffOf, linkOf } from '../records/streams.ts';
import { DAY_MS, epoch } from '../shared/time.ts';

type Input = InputOf<'submitLead'>;

export const submitLead: Handler<'submitLead'> = async (deps, input, call) => {
  const fault = missing(input);
  if (fault) return fault;
  const name = nameOf('lead', call.ownerId, input.external_id);
  const leadId = `led_${name}`;
  if ((await deps.vault.knows(leadId)) === 'destroyed') return ERASED;
  const source = await sourceOf(deps, call, input);
  if ('ok' in source) return source;

  const stream = `${call.ownerId}-lead_${name}`;
  const written = await decideAndAppend(deps, call, {
    stream,
    decider: lead,
    command: (state) => commandFor(deps, call, input, { state, leadId, source }),
  });
  if (!written.ok) return 'rejected' in written ? refusalOf(written) : written;
  const { state } = written;
  await releaseAfterWrite(() =>
    state.state === 'withdrawn'
      ? releaseClaim(deps, call, state)
      : releaseReplaced(deps, call, stream, written),
  );
  return done(await showLead(deps, call.ownerId, state, state.updated_at), {
    ...traceOf(written),
    ...(isFirstAnswer(state) ? {} : { status: 200 }),
  });
};

/** A caller's clock may go before ours. */
const CLOCK_SKEW_MS = 300_000;

const ERASED = refuse('resource_erased', 'The personal data of this lead was erased.');

/** Submitted, or submitted and judged in the same append: nothing came after. */
const isFirstAnswer = (state: LeadState): boolean =>
  state.version === 0 || (state.version === 1 && ['rejected', 'duplicate'].includes(state.state));

const said = (pointer: string, code: string, detail: string): Refusal =>
  refuse('validation_failed', 'Some fields are not valid.', {
    errors: [{ pointer, code, detail }],
  });

/** What the shape alone cannot say: which fields belong together. */
const missing = (input: Input): Refusal | undefined => {
  if (input.withdraw) {
    const { company, contact, consent, interest } = input;
    return (company ?? contact ?? consent ?? interest)
      ? said('/withdraw', 'not_together', 'a withdrawal changes nothing else')
      : undefined;
  }
  if (input.withdraw_reason !== undefined)
    return said('/withdraw_reason', 'not_together', 'needs withdraw: true');
  if (!input.company) return said('/company', 'required', 'a lead names a company');
  if (input.contact && !input.consent)
    return refuse('consent_missing', 'A contact needs a lawful basis.', {
      errors: [{ pointer: '/consent', code: 'required', detail: 'say basis and obtained_at' }],
    });
  const { kind, ref = '' } = input.source;
  const shape = kind === 'link' ? /^lnk_[0-9a-z]{24}$/ : /^hnd_[0-9a-z]{24}$/;
  return (kind === 'link' || kind === 'handoff') && !shape.test(ref)
    ? said('/source/ref', 'required', `name the ${kind} by its id`)
    : undefined;
};

const refusalOf = ({ rejected, detail }: RejectedBy<LeadRejection>): Refusal =>
  rejected === 'source_fixed'
    ? said('/source', 'fixed', detail)
    : refuse('state_conflict', `${detail}.`);

/** Also on a retry: the first try may have ended before. What came back since then stays claimed. */
const releaseReplaced = async (
  deps: Deps,
  call: AgentCall,
  stream: string,
  { before, state, replayOf }: Written<LeadState>,
): Promise<void> => {
  if (before?.contact === undefined || before.contact === state.contact) return;
  const now = replayOf === undefined ? state : await stateOf(deps, { stream, decider: lead });
  await releaseClaim(deps, call, { ...before, current: now?.contact });
};

/** Where the lead came from, as this request says. */
const sourceOf = async (
  deps: Deps,
  call: AgentCall,
  { source }: Input,
): Promise<LeadSource | Refusal> => {
  const { kind, ref } = source;
  const said = { kind, ...(ref !== undefined && { ref }) };
  if (ref === undefined || (kind !== 'link' && kind !== 'handoff'))
    return { source: said, dims: {} };
  const found =
    kind === 'link'
      ? await linkOf(deps, call.ownerId, ref)
      : await handoffOf(deps, call.ownerId, ref);
  if (!found)
    return refuse('resource_not_found', `There is no such ${kind}.`, {
      errors: [
        { pointer: '/source/ref', code: 'not_found', detail: `no ${kind} of yours has this id` },
      ],
    });
  return {
    source: said,
    dims: found.dims,
    ...(kind === 'link' ? { link_id: ref } : { handoff_id: ref }),
  };
};

const commandFor = async (
  deps: Deps,
  call: AgentCall,
  input: Input,
  facts: { state: LeadState | undefined; leadId: string; source: LeadSource },
): Promise<LeadCommand | Refusal> => {
  const { state, leadId, source } = facts;
  if (input.withdraw) {
    if (!state) return refuse('resource_not_found', 'No lead of yours has this external_id.');
    const sealed = await sealAll(deps.vault, leadId, { reason: input.withdraw_reason });
    if (sealed === null) return ERASED;
    const { reason: sealedReason } = sealed;
    return { type: 'WithdrawLead', at: call.at, ...(sealedReason && { sealedReason }) };
  }
  // After the answer of an earlier request was looked for: that one stands, whatever it said.
  if (!state && holdsAddress(input.external_id))
    return said('/external_id', PERSONAL.code, PERSONAL.detail);
  if (input.consent && epoch(input.consent.obtained_at) > call.at + CLOCK_SKEW_MS)
    return said('/consent/obtained_at', 'in_future', 'must not lie in the future');
  const content = await contentOf(deps, input, leadId);
  if ('ok' in content) return content;
  const expiresAt = state?.claim_expires_at ?? call.at + LIMITS.LEAD_CLAIM_DAYS * DAY_MS;
  const amend: LeadCommand = { type: 'AmendLead', at: call.at, content, from: source };
  const stands = !state || lead.decide(state, amend).accepted;
  const clash =
    input.contact && stands
      ? await claimContact(deps, call, { leadId, email: input.contact.email, expiresAt })
      : 'none';
  if (state)
    return clash === 'none'
      ? amend
      : refuse('state_conflict', 'Another lead has this contact; this one stays as it is.');
  return {
    type: 'SubmitLead',
    clash,
    lead: {
      lead_id: leadId,
      agent_id: call.caller.agentId,
      external_id: input.external_id,
      ...source,
      claim_expires_at: expiresAt,
      ...content,
    },
  };
};

/** What the lead says, with everything personal sealed before anything is decided or stored. */
const contentOf = async (
  deps: Deps,
  input: Input,
  leadId: string,
): Promise<LeadContent | Refusal> => {
  const { company, contact, consent, interest, metadata } = input;
  if (!company) throw new Error('a lead without a company passed validation');
  const seal = (text: string | undefined) =>
    text === undefined ? undefined : deps.vault.seal(leadId, text);
  const sealed = await Promise.all([
    seal(contact && JSON.stringify(contact)),
    seal(interest?.note),
  ]);
  if (sealed.includes(null)) return ERASED;
  const content = {
    company,
    consent,
    metadata,
    contact: sealed[0],
    interest: interest && { ...interest, ...(interest.note !== undefined && { note: sealed[1] }) },
  };
  return present(content) as LeadContent;
};
