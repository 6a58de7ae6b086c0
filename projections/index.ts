import { access } from './access.ts';
import { codes } from './codes.ts';
import { credentials } from './credentials.ts';
import { handoffs } from './handoffs.ts';
import { history } from './history.ts';
import { leads } from './leads.ts';
import { links } from './links.ts';
import { performance } from './performance.ts';
import type { Projection } from './projection.ts';
import { reviewTokens } from './review-tokens.ts';

export type { CredentialRow } from './credentials.ts';
export type { HandoffRow } from './handoffs.ts';
export type { HistoryEntry, HistoryRow } from './history.ts';
export { historyEntries } from './history.ts';
export type { LeadRow } from './leads.ts';
export type { LinkRow } from './links.ts';
export type { PerformanceRow } from './performance.ts';
export { CLASSIFIER_VERSION, foldPerformance } from './performance.ts';

/** Every read model. */
export const PROJECTIONS: readonly Projection[] = [
  links,
  handoffs,
  leads,
  codes,
  reviewTokens,
  credentials,
  access,
  performance,
  history,
];
