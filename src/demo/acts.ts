/** The form of the story: a list of acts, each of which is one call of one operation. */
import type { z } from 'zod';
import { holderOperations } from '#contracts/registries/holders.ts';
import { deskOperations } from '#contracts/registries/desk.ts';
import { agentOperations } from '#contracts/registries/agents.ts';
import { visitorOperations } from '#contracts/registries/visitors.ts';

export const storyOperations = {
  ...agentOperations,
  ...deskOperations,
  ...holderOperations,
  ...visitorOperations,
};

type StoryOperations = typeof storyOperations;
export type StoryOperationId = keyof StoryOperations;

export type StoryInput<Id extends StoryOperationId> = Omit<
  z.input<StoryOperations[Id]['input']>,
  'idempotency_key'
>;

export type StoryAnswer<Id extends StoryOperationId> = z.output<StoryOperations[Id]['output']>;

/** Before the name of a list, or of its sending: the holder of the mailbox from which its buyer sent it. */
export const MAILBOX_OF = 'mailbox of ';

export type Act = {
  /** Days since the start of the story. */
  day: number;
  /** The name of a credential: of a person, an agent, or a list for its buyer. */
  by: string;
  operation: StoryOperationId;
  /** Texts may refer to the answer of an earlier act, `{name.field}`, or to the time: `{now}`, and `{later}` 30 days after. */
  input: object;
  /** The name of the answer, for later acts. */
  as?: string;
  /** Whether the service must refuse the act. */
  isRefused?: true;
};

/** Returns a function that creates the acts of one actor. */
export const actor =
  (by: string) =>
  <Id extends StoryOperationId>(
    day: number,
    operation: Id,
    { as, ...input }: StoryInput<Id> & { as?: string },
  ): Act => ({ day, by, operation, input, ...(as !== undefined && { as }) });
