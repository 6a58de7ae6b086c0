/** Links as records: created, found by code, rendered, and the promotion that a landing page shows. */
import { LINK_DISCLOSURE } from '#contracts/boundaries.ts';
import { ATTRIBUTION_PARAMETER, VIA_PARAMETER } from '#contracts/links/attribution-token.ts';
import type { Link } from '#contracts/links/records.ts';
import type { Deps, Handler, InputOf } from '#src/calls/handlers.ts';
import { promoterName } from '#src/owners/promoter-name.ts';
import type { CodeRow } from '#src/ports/rows.ts';
import { present } from '#src/shared/json.ts';
import { openAttribution } from '#src/shared/signing.ts';
import { iso, endFault, epoch } from '#src/shared/time.ts';
import {
  type LinkState,
  linkStatusAt,
  nameOfLink,
  link,
  type LinkCommand,
} from './link.decider.ts';
import type { EventData } from '#contracts/registries/events.ts';
import { LIMITS } from '#contracts/limits.ts';
import { codeClaim, type CodeClaimRejection } from '#src/writing/claims.decider.ts';
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
import { warned, warnInUse } from '#src/reading/live-sources.ts';
import { resolveTarget } from '#src/catalog/products.ts';

/** Renders a link as the contract shows it at `at`, in epoch milliseconds. */
export const renderLink = (ownerId: string, state: LinkState, at: number): Link => {
  const { campaign, channel, sub_ids } = state.dims;
  return {
    id: state.link_id,
    owner_id: ownerId,
    agent_id: state.agent_id,
    target: state.target,
    destination_url: state.destination_url,
    short_url: state.short_url,
    qr_svg_url: `${state.short_url}/qr.svg`,
    qr_png_url: `${state.short_url}/qr.png`,
    code: state.code,
    ...present({
      slug: state.slug,
      external_id: state.external_id,
      campaign,
      sub_ids,
      utm: state.utm,
    }),
    ...(channel !== undefined && { channel: channel as NonNullable<Link['channel']> }),
    ...(state.expires_at !== undefined && { expires_at: iso(state.expires_at) }),
    ...present({ expired_url: state.expired_url }),
    disclosure: LINK_DISCLOSURE,
    ...present({
      metadata: state.metadata,
      warnings: state.warnings,
    }),
    status: linkStatusAt(state, at),
    version: state.version,
    created_at: iso(state.created_at),
    updated_at: iso(state.updated_at),
  };
};

/** The name of a link: one that was created without the title of its product has the one in the catalog. */
export const shownNameOfLink = (
  { catalog }: Pick<Deps, 'catalog'>,
  state: LinkState,
): string | undefined =>
  nameOfLink(state) ?? catalog.byId([state.target.ref]).get(state.target.ref)?.title;

const CODE = /^[a-z0-9-]{3,64}$/;

/** Finds the link of a short code, in any case; resolves to undefined if there is none. */
export const findCode = async (
  { readModels }: Pick<Deps, 'readModels'>,
  entered: string,
): Promise<{ code: string; row: CodeRow } | undefined> => {
  const code = entered.toLowerCase();
  const row = CODE.test(code) ? await readModels.get<CodeRow>('codes', code, '') : undefined;
  return row && { code, row };
};

/** Adds a query parameter, whose value needs no escape, behind the others: the first of a name counts. */
export const withParameter = (address: string, [name, value]: Parameter): string =>
  `${address}${address.includes('?') ? '&' : '?'}${name}=${value}`;

export type Parameter = readonly [name: string, value: string];

/** The link that led to a landing page, for the disclosure and for sharing the page. */
export type Promotion = {
  ownerId: string;
  /** The promoter's name. */
  promoter: string;
  agentName: string;
  /** The present address of the short link; absent if the link is disabled. */
  shortUrl?: string;
  /** The parameter that says so, for the links of the page. */
  parameter: Parameter;
};

/** What the address of a landing page says about its link. */
export type Source = { attribution?: string | undefined; via?: string | undefined };

/**
 * Finds the link that a page was reached by: from a valid token, or else from the code of the link, which credits
 * nothing. Resolves to undefined if neither names a link. `at` is in epoch milliseconds.
 */
export const findPromotion = async (
  deps: Deps,
  { attribution, via }: Source,
  at: number,
): Promise<Promotion | undefined> => {
  const { readModels, secrets, credentials, origin } = deps;
  const promotion = async (
    { owner, agent_id, code }: { owner: string; agent_id: string; code: string | undefined },
    parameter: Parameter,
  ): Promise<Promotion> => ({
    ownerId: owner,
    promoter: await promoterName(deps, owner),
    agentName: credentials.agent(agent_id)?.name ?? agent_id,
    ...(code !== undefined && { shortUrl: `${origin()}/l/${code}` }),
    parameter,
  });
  const claims = attribution && openAttribution(secrets, attribution, at);
  if (claims) {
    const { owner_id: owner, agent_id, link_id } = claims;
    const link = await readModels.get<LinkState>('links', owner, link_id);
    const code = link?.status === 'active' ? link.code : undefined;
    return promotion({ owner, agent_id, code }, [ATTRIBUTION_PARAMETER, attribution]);
  }
  const link = via === undefined ? undefined : await findCode(deps, via);
  if (!link || link.row.disabled) return undefined;
  return promotion({ ...link.row, code: link.code }, [VIA_PARAMETER, link.code]);
};

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
