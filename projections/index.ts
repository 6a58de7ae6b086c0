import { accessRequests } from './access-requests.ts';
import { codes } from './codes.ts';
import { access, credentials } from './credentials.ts';
import { erasures } from './erasures.ts';
import { handoffLeads } from './handoff-leads.ts';
import { history } from './history.ts';
import { mailboxes } from './mailboxes.ts';
import { openApplications } from './owners/open-applications.ts';
import { openMail } from './open-mail.ts';
import { openOutbound } from './open-outbound.ts';
import { leads } from './leads.ts';
import { openLeads } from './open-leads.ts';
import { leadHints } from './staff/lead-hints.ts';
import { handoffs, links, outboundRequests } from './owner-records.ts';
import { owners } from './owners/owners.ts';
import { performance } from './performance.ts';
import type { Projection } from './projection.ts';
import { pushConfigs } from './push-configs.ts';
import { reviewTokens } from './review-tokens.ts';
import { rfqs } from './rfqs.ts';
import { tasks } from './tasks.ts';

export { CLASSIFIER_VERSION } from './performance.ts';

/** All read models. */
export const PROJECTIONS: readonly Projection[] = [
  links,
  handoffs,
  handoffLeads,
  leads,
  outboundRequests,
  openOutbound,
  openMail,
  openApplications,
  openLeads,
  leadHints,
  rfqs,
  tasks,
  pushConfigs,
  codes,
  reviewTokens,
  credentials,
  access,
  accessRequests,
  owners,
  erasures,
  mailboxes,
  performance,
  history,
];
