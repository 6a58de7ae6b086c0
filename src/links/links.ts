/** Links as records: found by code, rendered, and the promotion that a landing page shows. */
import { LINK_DISCLOSURE } from '#contracts/boundaries.ts';
import { ATTRIBUTION_PARAMETER, VIA_PARAMETER } from '#contracts/links/attribution-token.ts';
import type { Link } from '#contracts/links/records.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { promoterName } from '#src/owners/promoter-name.ts';
import type { CodeRow } from '#src/ports/rows.ts';
import { present } from '#src/shared/json.ts';
import { openAttribution } from '#src/shared/signing.ts';
import { iso } from '#src/shared/time.ts';
import { type LinkState, linkStatusAt, nameOfLink } from './link.decider.ts';

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
