/** The registry of events, and the lists that each decider folds. */
import type { z } from 'zod';
import { activityEvents, requestsEvents } from '#contracts/calls/events.ts';
import {
  agentEvents,
  applicationEvents,
  deskTokenEvents,
  keyEvents,
} from '#contracts/access/events.ts';
import { catalogEvents } from '#contracts/catalog/events.ts';
import { claimsEvents, clockEvents } from '#contracts/writing/events.ts';
import { goodsEvents, handoffEvents, rfqEvents } from '#contracts/handoffs/events.ts';
import { leadEvents } from '#contracts/leads/events.ts';
import { linkEvents } from '#contracts/links/events.ts';
import { mailEvents, mailboxEvents } from '#contracts/sending/events.ts';
import { ownerEvents } from '#contracts/owners/events.ts';
import {
  deviceLoginEvents,
  personClaimEvents,
  personEvents,
  sessionEvents,
  signInEvents,
} from '#contracts/people/events.ts';
import { buildEvents } from '#contracts/reading/events.ts';
import { proofEvents } from '#contracts/proof/events.ts';
import { planEvents } from '#contracts/plans/events.ts';
import { outboundEvents, outreachEvents } from '#contracts/outreach/events.ts';
import { privacyEvents } from '#contracts/privacy/events.ts';
import { repairEvents } from '#contracts/repairs/events.ts';
import { pushEvents, taskEvents } from '#contracts/tasks/events.ts';

/**
 * Every event that a log can hold. The name of a schema is the stored name, in the past tense. Names and shapes are in
 * every log: never rename one, and only add optional fields, or make a new version in UPCASTS. Checked before an event is
 * written and when a stream is read.
 */
export const EVENTS = Object.freeze({
  ...linkEvents,
  ...handoffEvents,
  ...rfqEvents,
  ...goodsEvents,
  ...leadEvents,
  ...claimsEvents,
  ...agentEvents,
  ...keyEvents,
  ...deskTokenEvents,
  ...catalogEvents,
  ...outboundEvents,
  ...outreachEvents,
  ...taskEvents,
  ...pushEvents,
  ...mailEvents,
  ...mailboxEvents,
  ...ownerEvents,
  ...personEvents,
  ...personClaimEvents,
  ...sessionEvents,
  ...signInEvents,
  ...deviceLoginEvents,
  ...applicationEvents,
  ...planEvents,
  ...activityEvents,
  ...privacyEvents,
  ...requestsEvents,
  ...clockEvents,
  ...proofEvents,
  ...buildEvents,
  ...repairEvents,
});

export type EventType = keyof typeof EVENTS;

/** By event type: the steps that convert data of version 1 to version 2, from there to 3, and so on. */
export type Upcasts = { readonly [type: string]: readonly ((data: object) => object)[] };

/** The types with more than one version. A new version has a step here, also where its data stays as it is. */
export const UPCASTS: Upcasts = {};

/** Returns the version of a type, which its events are stored with: one more than its steps. */
export const versionOf = (type: string, upcasts: Upcasts = UPCASTS): number =>
  1 + (upcasts[type]?.length ?? 0);

export type EventData<Type extends EventType> = z.infer<(typeof EVENTS)[Type]>;

/** An event as a decider returns it, narrowed by its type. */
export type EventOf<Type extends EventType> = {
  [T in Type]: { type: T; data: EventData<T> };
}[Type];

/** An event as a fold receives it: with its time, in epoch milliseconds. */
export type Happened<Type extends EventType> = EventOf<Type> & { at: number };

const typesOf = <Events extends object>(events: Events): readonly (keyof Events & EventType)[] =>
  Object.keys(events) as (keyof Events & EventType)[];

// The events of each decider. The decider folds its list, and so do the read models of its records. A test
// fails if an event type is in no list.

export const LINK_EVENTS = typesOf(linkEvents);
export const HANDOFF_EVENTS = typesOf({
  ...handoffEvents,
  ...rfqEvents,
  ...goodsEvents,
  ...privacyEvents,
});
export const RFQ_EVENTS = typesOf(rfqEvents);
export const GOODS_EVENTS = typesOf(goodsEvents);
export const LEAD_EVENTS = typesOf({ ...leadEvents, ...privacyEvents });
export const AGENT_EVENTS = typesOf(agentEvents);
export const KEY_EVENTS = typesOf(keyEvents);
export const DESK_TOKEN_EVENTS = typesOf(deskTokenEvents);
export const PRODUCT_EVENTS = typesOf(catalogEvents);
export const OUTBOUND_EVENTS = typesOf(outboundEvents);
export const OUTREACH_EVENTS = typesOf(outreachEvents);
export const TASK_EVENTS = typesOf(taskEvents);
export const PUSH_EVENTS = typesOf(pushEvents);
export const MAIL_EVENTS = typesOf(mailEvents);
export const PRIVACY_EVENTS = typesOf(requestsEvents);
export const MAILBOX_EVENTS = typesOf(mailboxEvents);
export const OWNER_EVENTS = typesOf(ownerEvents);
export const PERSON_EVENTS = typesOf(personEvents);
export const PERSON_CLAIM_EVENTS = typesOf(personClaimEvents);
export const SESSION_EVENTS = typesOf(sessionEvents);
export const SIGN_IN_EVENTS = typesOf(signInEvents);
export const DEVICE_LOGIN_EVENTS = typesOf(deviceLoginEvents);
export const APPLICATION_EVENTS = typesOf({ ...applicationEvents, ...privacyEvents });
export const PLAN_EVENTS = typesOf(planEvents);
export const REPAIR_EVENTS = typesOf(repairEvents);

export type LinkEventType = (typeof LINK_EVENTS)[number];
export type HandoffEventType = (typeof HANDOFF_EVENTS)[number];
export type RfqEventType = (typeof RFQ_EVENTS)[number];
export type GoodsEventType = (typeof GOODS_EVENTS)[number];
export type LeadEventType = (typeof LEAD_EVENTS)[number];
export type AgentEventType = (typeof AGENT_EVENTS)[number];
export type KeyEventType = (typeof KEY_EVENTS)[number];
export type DeskTokenEventType = (typeof DESK_TOKEN_EVENTS)[number];
export type ProductEventType = (typeof PRODUCT_EVENTS)[number];
export type OutboundEventType = (typeof OUTBOUND_EVENTS)[number];
export type OutreachEventType = (typeof OUTREACH_EVENTS)[number];
export type TaskEventType = (typeof TASK_EVENTS)[number];
export type PushEventType = (typeof PUSH_EVENTS)[number];
export type MailEventType = (typeof MAIL_EVENTS)[number];
export type MailboxEventType = (typeof MAILBOX_EVENTS)[number];
export type OwnerEventType = (typeof OWNER_EVENTS)[number];
export type PersonEventType = (typeof PERSON_EVENTS)[number];
export type PersonClaimEventType = (typeof PERSON_CLAIM_EVENTS)[number];
export type SessionEventType = (typeof SESSION_EVENTS)[number];
export type SignInEventType = (typeof SIGN_IN_EVENTS)[number];
export type DeviceLoginEventType = (typeof DEVICE_LOGIN_EVENTS)[number];
export type ApplicationEventType = (typeof APPLICATION_EVENTS)[number];
export type PlanEventType = (typeof PLAN_EVENTS)[number];
export type RepairEventType = (typeof REPAIR_EVENTS)[number];
