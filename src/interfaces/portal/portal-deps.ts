import type { Deps } from '#src/app/deps.ts';
import type { Visits } from '#src/app/visits.ts';

export type PortalDeps = Deps & {
  visits: Visits;
  /** Header in which a proxy in front names the visitor's country; two letters, else ignored. */
  countryHeader?: string | undefined;
};
