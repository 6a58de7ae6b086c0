import { access } from './access.ts';
import { codes } from './codes.ts';
import { credentials } from './credentials.ts';
import { erasures } from './erasures.ts';
import { handoffLeads } from './handoff-leads.ts';
import { handoffs } from './handoffs.ts';
import { history } from './history.ts';
import { leads } from './leads.ts';
import { links } from './links.ts';
import { openOutbound, outbound } from './outbound.ts';
import { owners } from './owners.ts';
import { performance } from './performance.ts';
import type { Projection } from './projection.ts';
import { reviewTokens } from './review-tokens.ts';
import { tasks } from './tasks.ts';

export { CLASSIFIER_VERSION, performanceFold } from './performance.ts';

/** Every read model. */
export const PROJECTIONS: readonly Projection[] = [
  links,
  handoffs,
  handoffLeads,
  leads,
  outbound,
  openOutbound,
  tasks,
  codes,
  reviewTokens,
  credentials,
  access,
  owners,
  erasures,
  performance,
  history,
];
