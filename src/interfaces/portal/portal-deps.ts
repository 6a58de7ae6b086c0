import type { Deps } from '#src/app/pipeline/deps.ts';
import type { Limiter } from '#src/app/pipeline/limiter.ts';
import type { Visits } from '#src/app/links/visits.ts';

export type PortalDeps = Deps & {
  visits: Visits;
  /** By review link: acts of whoever holds it. */
  buyerActs: Limiter;
  /** Header in which a proxy in front names the visitor's country; two letters, else ignored. */
  countryHeader?: string | undefined;
};
