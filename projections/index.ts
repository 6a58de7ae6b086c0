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
