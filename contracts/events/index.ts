import type { z } from 'zod';
import * as access from './access.ts';
import * as activity from './activity.ts';
import * as catalog from './catalog.ts';
import * as handoff from './handoff.ts';
import * as lead from './lead.ts';
import * as link from './link.ts';
import * as outbound from './outbound.ts';
import * as task from './task.ts';

/**
 * Every event that a log can hold. The name is the stored format: past tense, never renamed. Checked
 * before it is written and when a stream is read.
 */
export const EVENTS = {
  LinkCreated: link.LinkCreated,
  LinkDisabled: link.LinkDisabled,
  CodeClaimed: link.CodeClaimed,
  HandoffCreated: handoff.HandoffCreated,
  HandoffOpenedByBuyer: handoff.HandoffOpenedByBuyer,
  HandoffListRevisedByBuyer: handoff.HandoffListRevisedByBuyer,
  HandoffDeclinedByBuyer: handoff.HandoffDeclinedByBuyer,
  HandoffWithdrawn: handoff.HandoffWithdrawn,
  HandoffInvalidated: handoff.HandoffInvalidated,
  RfqSubmittedByBuyer: handoff.RfqSubmittedByBuyer,
  LeadSubmitted: lead.LeadSubmitted,
  LeadAmended: lead.LeadAmended,
  LeadAccepted: lead.LeadAccepted,
  LeadRejected: lead.LeadRejected,
  LeadMarkedDuplicate: lead.LeadMarkedDuplicate,
  LeadContacted: lead.LeadContacted,
  LeadQualified: lead.LeadQualified,
  LeadUnqualified: lead.LeadUnqualified,
  LeadRfqObserved: lead.LeadRfqObserved,
  LeadWon: lead.LeadWon,
  LeadLost: lead.LeadLost,
  LeadWithdrawn: lead.LeadWithdrawn,
  LeadClaimed: lead.LeadClaimed,
  LeadClaimReleased: lead.LeadClaimReleased,
  AccessRequested: access.AccessRequested,
  AccessApproved: access.AccessApproved,
  AccessDenied: access.AccessDenied,
  AgentSuspended: access.AgentSuspended,
  AgentReinstated: access.AgentReinstated,
  KeyIssued: access.KeyIssued,
  KeyRetired: access.KeyRetired,
  KeyRevoked: access.KeyRevoked,
  DeskTokenIssued: access.DeskTokenIssued,
  DeskTokenRevoked: access.DeskTokenRevoked,
  ProductPublished: catalog.ProductPublished,
  ProductRevised: catalog.ProductRevised,
  ProductStockObserved: catalog.ProductStockObserved,
  ProductWithdrawn: catalog.ProductWithdrawn,
  OutboundProposed: outbound.OutboundProposed,
  OutboundRevised: outbound.OutboundRevised,
  OutboundApproved: outbound.OutboundApproved,
  OutboundRejected: outbound.OutboundRejected,
  OutboundChangesRequested: outbound.OutboundChangesRequested,
  OutboundExpired: outbound.OutboundExpired,
  OutboundCanceled: outbound.OutboundCanceled,
  OutboundDispatched: outbound.OutboundDispatched,
  OutboundDeferred: outbound.OutboundDeferred,
  OutboundConfirmed: outbound.OutboundConfirmed,
  OutboundFailed: outbound.OutboundFailed,
  OutboundOutcomeUnknown: outbound.OutboundOutcomeUnknown,
  OutreachConfigured: outbound.OutreachConfigured,
  OutreachHalted: outbound.OutreachHalted,
  OutreachResumed: outbound.OutreachResumed,
  OutreachChannelDisabled: outbound.OutreachChannelDisabled,
  TaskReceived: task.TaskReceived,
  TaskCompleted: task.TaskCompleted,
  TaskRejected: task.TaskRejected,
  TaskCanceled: task.TaskCanceled,
  VisitRecorded: activity.VisitRecorded,
  ActivityRecorded: activity.ActivityRecorded,
  CallsAudited: activity.CallsAudited,
  RequestBound: activity.RequestBound,
  SubjectErased: activity.SubjectErased,
} as const;

export type EventType = keyof typeof EVENTS;
export type EventData<Type extends EventType> = z.infer<(typeof EVENTS)[Type]>;

/** An event as a decider makes it, narrowed by its type. */
export type EventOf<Type extends EventType> = {
  [T in Type]: { type: T; data: EventData<T> };
}[Type];

/** An event as a fold sees it: what happened, and when (epoch milliseconds). */
export type Happened<Type extends EventType> = EventOf<Type> & { at: number };

// Whose story an event belongs to: a decider folds its list, and so do the read models of its records.
// A new type goes into one of them, or a test tells.

export const LINK_EVENTS = ['LinkCreated', 'LinkDisabled'] as const satisfies readonly EventType[];

export const HANDOFF_EVENTS = [
  'HandoffCreated',
  'HandoffOpenedByBuyer',
  'HandoffListRevisedByBuyer',
  'HandoffDeclinedByBuyer',
  'HandoffWithdrawn',
  'HandoffInvalidated',
  'RfqSubmittedByBuyer',
  'SubjectErased',
] as const satisfies readonly EventType[];

export const LEAD_EVENTS = [
  'LeadSubmitted',
  'LeadAmended',
  'LeadAccepted',
  'LeadRejected',
  'LeadMarkedDuplicate',
  'LeadContacted',
  'LeadQualified',
  'LeadUnqualified',
  'LeadRfqObserved',
  'LeadWon',
  'LeadLost',
  'LeadWithdrawn',
  'SubjectErased',
] as const satisfies readonly EventType[];

export const AGENT_EVENTS = [
  'AccessRequested',
  'AccessApproved',
  'AccessDenied',
  'AgentSuspended',
  'AgentReinstated',
] as const satisfies readonly EventType[];

export const KEY_EVENTS = [
  'KeyIssued',
  'KeyRetired',
  'KeyRevoked',
] as const satisfies readonly EventType[];

export const DESK_TOKEN_EVENTS = [
  'DeskTokenIssued',
  'DeskTokenRevoked',
] as const satisfies readonly EventType[];

export const PRODUCT_EVENTS = [
  'ProductPublished',
  'ProductRevised',
  'ProductStockObserved',
  'ProductWithdrawn',
] as const satisfies readonly EventType[];

export const OUTBOUND_EVENTS = [
  'OutboundProposed',
  'OutboundRevised',
  'OutboundApproved',
  'OutboundRejected',
  'OutboundChangesRequested',
  'OutboundExpired',
  'OutboundCanceled',
  'OutboundDispatched',
  'OutboundDeferred',
  'OutboundConfirmed',
  'OutboundFailed',
  'OutboundOutcomeUnknown',
] as const satisfies readonly EventType[];

export const OUTREACH_EVENTS = [
  'OutreachConfigured',
  'OutreachHalted',
  'OutreachResumed',
  'OutreachChannelDisabled',
] as const satisfies readonly EventType[];

export const TASK_EVENTS = [
  'TaskReceived',
  'TaskCompleted',
  'TaskRejected',
  'TaskCanceled',
] as const satisfies readonly EventType[];

export type LinkEventType = (typeof LINK_EVENTS)[number];
export type HandoffEventType = (typeof HANDOFF_EVENTS)[number];
export type LeadEventType = (typeof LEAD_EVENTS)[number];
export type AgentEventType = (typeof AGENT_EVENTS)[number];
export type KeyEventType = (typeof KEY_EVENTS)[number];
export type DeskTokenEventType = (typeof DESK_TOKEN_EVENTS)[number];
export type ProductEventType = (typeof PRODUCT_EVENTS)[number];
export type OutboundEventType = (typeof OUTBOUND_EVENTS)[number];
export type OutreachEventType = (typeof OUTREACH_EVENTS)[number];
export type TaskEventType = (typeof TASK_EVENTS)[number];
