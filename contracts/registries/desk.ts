import { registryOf } from '#contracts/operation.ts';
import * as agents from '#contracts/access/agents.desk.ts';
import * as audit from '#contracts/audits/audits.desk.ts';
import * as auditFiles from '#contracts/audits/audit-files.desk.ts';
import * as auditHistory from '#contracts/audits/audit-history.desk.ts';
import * as approvals from '#contracts/outreach/approvals.desk.ts';
import * as catalog from '#contracts/catalog/catalog.desk.ts';
import * as clock from '#contracts/writing/clock.desk.ts';
import * as inbox from '#contracts/plans/inbox.desk.ts';
import * as keys from '#contracts/access/keys.desk.ts';
import * as leads from '#contracts/leads/leads.desk.ts';
import * as lists from '#contracts/handoffs/lists.desk.ts';
import * as owners from '#contracts/owners/owners.desk.ts';
import * as outreach from '#contracts/outreach/outreach.desk.ts';
import * as privacy from '#contracts/privacy/privacy.desk.ts';
import * as plans from '#contracts/plans/plans.desk.ts';
import * as records from '#contracts/audits/history.desk.ts';
import * as rfqs from '#contracts/handoffs/rfqs.desk.ts';
import * as system from '#contracts/reading/projections.desk.ts';

/** The operations of a module. Sorted, because the order of exports is that of whatever loads the module. */
const byName = <Module extends object>(module: Module): Module =>
  Object.fromEntries(
    Object.entries(module).toSorted(([a], [b]) => Number(a > b) - Number(a < b)),
  ) as Module;

/**
 * The operations of people: a second registry with its own base path, credentials and document. The desk
 * accepts no agent's key, and no agent interface accepts a desk token. Each export of these modules is an operation.
 */
export const deskOperations = registryOf({
  ...byName(agents),
  ...byName(keys),
  ...byName(catalog),
  ...byName(leads),
  ...byName(records),
  ...byName(rfqs),
  ...byName(privacy),
  ...byName(outreach),
  ...byName(owners),
  ...byName(approvals),
  ...byName(inbox),
  ...byName(plans),
  ...byName(lists),
  ...byName(system),
  ...byName(clock),
  ...byName(audit),
  ...byName(auditFiles),
  ...byName(auditHistory),
});

export type DeskOperations = typeof deskOperations;
export type DeskOperationId = keyof DeskOperations;
