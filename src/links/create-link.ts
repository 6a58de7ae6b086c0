/** The operation that creates an attributed link. */
import type { EventData } from '#contracts/registries/events.ts';
import { LIMITS } from '#contracts/limits.ts';
import { codeClaim, type CodeClaimRejection } from '#src/writing/claims.decider.ts';
import { link, type LinkCommand, type LinkState } from './link.decider.ts';
import type { Deps, Handler, InputOf } from '#src/calls/handlers.ts';
import { type AgentCall, unkeyed } from '#src/shared/call.ts';
import {
  createOnce,
  decideAndAppend,
  issue,
  readReplay,
  traceOf,
  type Written,
} from '#src/writing/decide-and-append.ts';
import { decideClaim, answerOnce } from '#src/writing/idempotency.ts';
import { nameOf, digestOf, fingerprintsOf } from '#src/writing/streams.ts';
import { done, isRefusal, type Refusal, refuse, refuseField } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { warned, warnInUse } from '#src/reading/live-sources.ts';
import { resolveTarget } from '#src/catalog/products.ts';
import { renderLink } from './links.ts';
import { endFault, epoch } from '#src/shared/time.ts';
import type { Link } from '#contracts/links/records.ts';

type Input = InputOf<'createLink'>;

const CODE_CHARS = 12;

export const createLink: Handler<'createLink'> = async (deps, input, call) => {
  const name = nameOf('link', call.idem ?? '');
  const stream = `${call.ownerId}-link_${name}`;
  const answer = (written: Written<LinkState>) =>
    done(renderLink(call.ownerId, written.state, written.state.created_at), traceOf(written));

  const facts = await makeFacts(deps, call, { input, name });
  if (isRefusal(facts) || input.slug !== undefined) {
    // A retry gets its first answer, even if its input would be refused now, and claims nothing.
    const replay = await readReplay(deps, call, { stream, decider: link });
    if (replay) return replay.ok ? answer(replay) : replay;
  }
  if (isRefusal(facts)) return facts;
  const command = { type: 'CreateLink' as const, link: facts };
  const written =
    input.slug === undefined
      ? await createOnce(deps, call, { stream, decider: link, command })
      : await createWithSlug(deps, call, { stream, command });
  return written.ok ? answer(written) : written;
};

/** Makes the facts that the decision needs, or refuses an input that allows none. */
const makeFacts = async (
  deps: Deps,
  call: AgentCall,
  { input, name }: { input: Input; name: string },
): Promise<EventData<'LinkCreated'> | Refusal> => {
  const { expires_at } = input;
  if (expires_at !== undefined) {
    const fault = endFault(epoch(expires_at), call.at, LIMITS.LINK_DAYS_MAX);
    if (fault) return refuseField('/expires_at', 'out_of_range', fault);
  }
  const target = resolveTarget(deps, input.target, '/target');
  if (isRefusal(target)) return target;
  const expired =
    input.expired_target && resolveTarget(deps, input.expired_target, '/expired_target');
  if (isRefusal(expired)) return expired;
  const code = input.slug ?? name.slice(0, CODE_CHARS);
  const { slug, external_id, campaign, channel, sub_ids, utm, metadata } = input;
  return {
    link_id: `lnk_${name}`,
    agent_id: call.caller.agentId,
    ...present({ name: target.name }),
    target: target.target,
    destination_url: withUtm(target.url, utm),
    code,
    short_url: `${deps.origin()}/l/${code}`,
    ...present({ slug, external_id, utm: utm && present(utm), metadata }),
    dims: present({ campaign, channel, sub_ids, ...target.dims, client: call.client?.name }),
    ...(expires_at !== undefined && { expires_at: epoch(expires_at) }),
    ...present({ expired_url: expired?.url }),
    ...warned(await warnInUse(deps, call.ownerId, { external_id, id: `lnk_${name}` })),
  };
};

export const withUtm = (url: string, utm: Input['utm']): string => {
  if (!utm) return url;
  const destination = new URL(url);
  for (const [name, value] of Object.entries(utm))
    if (value !== undefined) destination.searchParams.set(`utm_${name}`, value);
  return destination.href;
};

export const SLUG_TAKEN = refuse('slug_taken', 'Another link has this slug.', {
  errors: [{ pointer: '/slug', code: 'taken', detail: 'choose another, or leave it out' }],
});

const CODE_PROBLEMS: Record<CodeClaimRejection, Refusal> = { code_taken: SLUG_TAKEN };

/**
 * Claims the slug and creates the link in one call of the log. If that stops between the two on a server, the retry
 * continues: it makes a link of the same id, which has the slug already.
 */
const createWithSlug = async (
  deps: Deps,
  call: AgentCall,
  { stream, command }: { stream: string; command: Extract<LinkCommand, { type: 'CreateLink' }> },
): Promise<Written<LinkState> | Refusal> => {
  const { code, link_id } = command.link;
  const claim = { code, link_id, owner_id: call.ownerId };
  const target = { stream: `codes-code_${code}`, decider: codeClaim };
  // Almost every slug is free, so that its stream is read only after a conflict.
  let isLikelyFree = true;
  const written = await decideAndAppend(deps, call, {
    stream,
    decider: link,
    expected: [],
    async command() {
      const stored = isLikelyFree ? [] : await deps.log.readStream(target.stream);
      isLikelyFree = false;
      const decision = decideClaim(deps.ids, unkeyed(call), {
        ...target,
        stored,
        command: { type: 'ClaimCode' as const, claim },
      });
      return decision.ok
        ? issue(command, { claims: decision.appends })
        : CODE_PROBLEMS[decision.rejected];
    },
  });
  if ('rejected' in written) throw new Error(`a link was rejected: ${written.rejected}`);
  return written;
};

const problemOf = ({ code, detail, errors }: Refusal) => ({
  problem: { code, detail, ...present({ errors }) },
});

/**
 * Creates each link with a key of its own, made of the key of the call and its place, so that a call that was interrupted
 * continues. The answer is stored with the key: a retry repeats it, also the problems that would be none now.
 */
export const createLinks: Handler<'createLinks'> = (deps, { links }, call) =>
  answerOnce(deps, call, {
    stream: `${call.ownerId}-links_${call.idem}`,
    async work() {
      const slugs = new Set<string>();
      const outcomes = links.map(async (input, place) => {
        const isTwice = input.slug !== undefined && slugs.has(input.slug);
        if (input.slug !== undefined) slugs.add(input.slug);
        if (isTwice) return SLUG_TAKEN;
        const item = {
          ...call,
          idem: digestOf(call.idem ?? '', String(place)),
          fingerprints: fingerprintsOf(deps.secrets, 'createLink', input),
        };
        return createLink(deps, { idempotency_key: '', ...input }, item);
      });
      const made = await Promise.all(outcomes);
      /** The first link with each external_id. */
      const first = new Map<string, string>();
      const warningsOf = ({ id, external_id, warnings }: Link): Link['warnings'] => {
        const other = external_id === undefined ? undefined : first.get(external_id);
        if (external_id !== undefined && other === undefined) first.set(external_id, id);
        return other === undefined ? warnings : [{ code: 'external_id_in_use', id: other }];
      };
      return done({
        data: made.map((one) =>
          one.ok
            ? {
                ...present({ warnings: warningsOf(one.value) }),
                id: one.value.id,
                short_url: one.value.short_url,
              }
            : problemOf(one),
        ),
      });
    },
  });
