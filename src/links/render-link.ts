import { LINK_DISCLOSURE } from '#contracts/boundaries.ts';
import type { Link } from '#contracts/links/link.records.ts';
import type { LinkState } from './link.decider.ts';
import { present } from '#src/shared/present.ts';
import { iso } from '#src/shared/time.ts';

/** Renders a link as the contract shows it at `at`, in epoch milliseconds. */
export const renderLink = (ownerId: string, state: LinkState, at: number): Link => {
  const expired = state.expires_at !== undefined && state.expires_at <= at;
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
    ...present({ metadata: state.metadata }),
    status: state.status === 'active' && expired ? 'expired' : state.status,
    version: state.version,
    created_at: iso(state.created_at),
    updated_at: iso(state.updated_at),
  };
};
