import { registryOf } from '../operation.ts';
import * as agents from './agents.ts';
import * as audit from './audit.ts';
import * as auditFiles from './audit-files.ts';
import * as auditHistory from './audit-history.ts';
import * as approvals from './approvals.ts';
import * as catalog from './catalog.ts';
import * as clock from './clock.ts';
import * as inbox from './inbox.ts';
import * as keys from './keys.ts';
import * as leads from './leads.ts';
import * as lists from './lists.ts';
import * as owners from './owners.ts';
import * as outreach from './outreach.ts';
import * as privacy from './privacy.ts';
import * as plans from './plans.ts';
import * as records from './records.ts';
import * as rfqs from './rfqs.ts';
import * as system from './system.ts';

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
