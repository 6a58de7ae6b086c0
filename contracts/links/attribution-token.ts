/** The contract of attribution tokens, which a short link gives to its landing page and which shops read. */
import { z } from 'zod';
import { linkRecord } from './records.ts';

/** The query parameter of a landing page that has the token. */
export const ATTRIBUTION_PARAMETER = 'attribution';

/** The query parameter that has the code of the link instead, where the visit credits no promoter. */
export const VIA_PARAMETER = 'via';

/** `typ` in the header of the token, which distinguishes it from other signatures of this service. */
export const ATTRIBUTION_TYPE = 'attribution';

/**
 * What a token states: this visit of this link led to this page. It has no campaign, no tags and nothing about the
 * visitor. Readers ignore members that they do not know.
 */
export const attributionClaims = z.object({
  owner_id: z.string(),
  agent_id: z.string(),
  link_id: z.string(),
  /** What the landing page shows: after its end, a link can lead to another target. */
  target: linkRecord.shape.target,
  /** The id of the event `VisitRecorded`. */
  visit_id: z.string(),
  /** Issue time, in seconds since 1970. */
  iat: z.int(),
  /** End of the attribution window, in seconds since 1970. */
  exp: z.int(),
});

export type AttributionClaims = z.infer<typeof attributionClaims>;
