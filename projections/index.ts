/** All read models, in the order in which they are listed. */
import { accessRequests, access, credentials, openApplications } from './access.ts';
import { codes, links } from './links.ts';
import { erasures, mailboxes } from './privacy.ts';
import { confirmedLists, handoffLeads, reviewTokens, rfqs, handoffs } from './handoffs.ts';
import { changes, namedRecords } from './records.ts';
import { history } from './audits.ts';
import { openMail } from './sending.ts';
import { openOutbound, outboundRequests, outreachSettings } from './outreach.ts';
import { leads, openLeads, leadHints } from './leads.ts';
import { owners } from './owners.ts';
import { performance } from './performance.ts';
import type { Projection } from './projection.ts';
import { pushConfigs, tasks } from './tasks.ts';

export { CLASSIFIER_VERSION } from './performance.ts';

/** All read models. */
export const PROJECTIONS: readonly Projection[] = [
  links,
  handoffs,
  handoffLeads,
  leads,
  outboundRequests,
  openOutbound,
  outreachSettings,
  openMail,
  openApplications,
  openLeads,
  leadHints,
  rfqs,
  confirmedLists,
  namedRecords,
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
  changes,
];
