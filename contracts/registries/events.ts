import type { z } from 'zod';
import * as activity from '#contracts/calls/activity.events.ts';
import * as agent from '#contracts/access/agent.events.ts';
import * as application from '#contracts/access/application.events.ts';
import * as catalog from '#contracts/catalog/catalog.events.ts';
import * as claims from '#contracts/writing/claims.events.ts';
import * as clock from '#contracts/writing/clock.events.ts';
import * as deskToken from '#contracts/access/desk-token.events.ts';
import * as handoff from '#contracts/handoffs/handoff.events.ts';
import * as key from '#contracts/access/key.events.ts';
import * as lead from '#contracts/leads/lead.events.ts';
import * as link from '#contracts/links/link.events.ts';
import * as mail from '#contracts/sending/mail.events.ts';
import * as mailbox from '#contracts/sending/mailbox.events.ts';
import * as owner from '#contracts/owners/owner.events.ts';
import * as plan from '#contracts/plans/plan.events.ts';
import * as outbound from '#contracts/outreach/outbound.events.ts';
import * as outreach from '#contracts/outreach/outreach.events.ts';
import * as privacy from '#contracts/privacy/privacy.events.ts';
import * as push from '#contracts/tasks/push.events.ts';
import * as requests from '#contracts/calls/requests.events.ts';
import * as rfq from '#contracts/handoffs/rfq.events.ts';
import * as task from '#contracts/tasks/task.events.ts';

/**
 * Every event that a log can hold. Each module exports events and nothing else; the name of an export is the stored name,
 * in the past tense. Names and shapes are in every log: never rename one, and only add optional fields. Checked before an
 * event is written and when a stream is read.
 */
export const EVENTS = Object.freeze({
  ...link,
  ...handoff,
  ...rfq,
  ...lead,
  ...claims,
  ...agent,
  ...key,
  ...deskToken,
  ...catalog,
  ...outbound,
  ...outreach,
  ...task,
  ...push,
  ...mail,
  ...mailbox,
  ...owner,
  ...application,
  ...plan,
  ...activity,
  ...privacy,
  ...requests,
  ...clock,
});

export type EventType = keyof typeof EVENTS;
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

export const LINK_EVENTS = typesOf(link);
export const HANDOFF_EVENTS = typesOf({ ...handoff, ...rfq, ...privacy });
export const RFQ_EVENTS = typesOf(rfq);
export const LEAD_EVENTS = typesOf({ ...lead, ...privacy });
export const AGENT_EVENTS = typesOf(agent);
export const KEY_EVENTS = typesOf(key);
export const DESK_TOKEN_EVENTS = typesOf(deskToken);
export const PRODUCT_EVENTS = typesOf(catalog);
export const OUTBOUND_EVENTS = typesOf(outbound);
export const OUTREACH_EVENTS = typesOf(outreach);
export const TASK_EVENTS = typesOf(task);
export const PUSH_EVENTS = typesOf(push);
export const MAIL_EVENTS = typesOf(mail);
export const PRIVACY_EVENTS = typesOf(requests);
export const MAILBOX_EVENTS = typesOf(mailbox);
export const OWNER_EVENTS = typesOf(owner);
export const APPLICATION_EVENTS = typesOf({ ...application, ...privacy });
export const PLAN_EVENTS = typesOf(plan);

export type LinkEventType = (typeof LINK_EVENTS)[number];
export type HandoffEventType = (typeof HANDOFF_EVENTS)[number];
export type RfqEventType = (typeof RFQ_EVENTS)[number];
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
export type ApplicationEventType = (typeof APPLICATION_EVENTS)[number];
export type PlanEventType = (typeof PLAN_EVENTS)[number];
