import { ATTRIBUTION_PARAMETER, VIA_PARAMETER } from '#contracts/links/attribution-token.ts';
import type { LinkState } from './link.decider.ts';
import { openAttribution } from '#src/shared/jws.ts';
import { findCode } from './find-code.ts';
import type { Parameter } from './landing-address.ts';
import type { Deps } from '#src/calls/call.ts';

/** The link that led to a landing page, for the disclosure and for sharing the page. */
export type Promotion = {
  ownerId: string;
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
  const promotion = (
    { owner, agent_id, code }: { owner: string; agent_id: string; code: string | undefined },
    parameter: Parameter,
  ): Promotion => ({
    ownerId: owner,
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
