import { z } from 'zod';
import { linkPostExample, notificationExample, postExample } from '../examples/outbound.ts';
import {
  agentUrl,
  externalId,
  id,
  idempotencyKey,
  impersonal,
  line,
  text,
  time,
} from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { defineToolOperation } from '../operation.ts';
import { WRITE_PROBLEMS } from '../problems.ts';
import { MESSAGE_CHANNELS, NETWORKS, outboundRecord } from '../records/outbound.ts';
import { OUTBOUND_SCOPES } from '../scopes.ts';

/** A name under which the owner knows somebody; an address would be personal data in a log. */
const reference = impersonal(line(128), /@|\+?\d[\d ()-]{6,}/).describe(
  'A name under which the owner knows it, never an address',
);

const exactly = (max: number) =>
  text(max).describe('The exact text that people approve and that is sent');

const outboundId = id('out').describe('Id of the outreach request, as its proposal answered it');

const common = {
  idempotency_key: idempotencyKey,
  link_ids: z
    .array(id('lnk'))
    .max(LIMITS.OUTREACH_LINKS_MAX)
    .default([])
    .describe('Your links whose short_url stands in the text'),
  not_before: time.optional().describe('Not sent earlier'),
  not_after: time
    .optional()
    .describe(
      `Expires then; ${LIMITS.OUTREACH_DAYS_DEFAULT} days from now by default, at most ${LIMITS.OUTREACH_DAYS_MAX}`,
    ),
  external_id: externalId.optional(),
  revises: id('out')
    .optional()
    .describe('A request of the same kind that this replaces: new content, new approval'),
};

const GUIDANCE =
  'Only proposes: nothing is sent until people of the owner approved exactly this text. Beside a link ' +
  'the text must disclose it: the disclosure of the link record, "Promotional link" or #ad. Next: ' +
  'getOutboundRequest shows the decision; when changes are requested, send the new text with revises.';

const PROPOSES = ['OutboundProposed', 'OutboundRevised', 'RequestBound'] as const;

const PROBLEMS = [
  ...WRITE_PROBLEMS,
  'scope_missing',
  'resource_not_found',
  'approver_missing',
  'outreach_halted',
  'channel_not_verified',
  'disclosure_missing',
  'state_conflict',
] as const;

export const requestSocialPost = defineToolOperation({
  id: 'requestSocialPost',
  kind: 'command',
  scope: 'social:write',
  openWorld: true,
  writes: PROPOSES,
  summary: 'Propose a social post for approval',
  guidance: GUIDANCE,
  input: z.strictObject({
    ...common,
    network: z.enum(NETWORKS).describe('The social network'),
    account_ref: reference.describe('The account of the owner, by name'),
    text: exactly(5_000),
  }),
  output: outboundRecord,
  problems: PROBLEMS,
  examples: [
    {
      name: 'a post',
      input: {
        idempotency_key: 'spring-sale:KIT-101:post',
        network: 'mastodon',
        account_ref: 'shop-account',
        text: postExample.content.text,
      },
      output: postExample,
    },
    {
      name: 'a post with a link, which it names and discloses',
      after: 'createLink',
      input: {
        idempotency_key: 'spring-sale:KIT-101:link-post',
        network: 'mastodon',
        account_ref: 'shop-account',
        text: linkPostExample.content.text,
        link_ids: linkPostExample.content.link_ids,
      },
      output: linkPostExample,
    },
  ],
});

export const requestMessage = defineToolOperation({
  id: 'requestMessage',
  kind: 'command',
  scope: 'messages:write',
  openWorld: true,
  writes: PROPOSES,
  summary: 'Propose a message for approval',
  guidance: GUIDANCE,
  input: z.strictObject({
    ...common,
    channel: z.enum(MESSAGE_CHANNELS).describe('How it is sent'),
    recipient_ref: reference.describe('Who gets it, as the owner knows them: a list or a contact'),
    subject: line(200).optional().describe('Subject line'),
    text: exactly(8_000),
  }),
  output: outboundRecord,
  problems: PROBLEMS,
  examples: [
    {
      name: 'to a list',
      input: {
        idempotency_key: 'spring-sale:cafes:mail',
        channel: 'email',
        recipient_ref: 'list:cafe-owners',
        subject: 'Stoneware mugs in stock',
        text: 'Stoneware mugs are back in stock. Reply for a list.',
      },
      output: {
        ...postExample,
        kind: 'message',
        target: { channel: 'email', recipient_ref: 'list:cafe-owners' },
        content: {
          subject: 'Stoneware mugs in stock',
          text: 'Stoneware mugs are back in stock. Reply for a list.',
          link_ids: [],
        },
      },
    },
  ],
});

export const requestAgentNotification = defineToolOperation({
  id: 'requestAgentNotification',
  kind: 'command',
  scope: 'agents:notify',
  openWorld: true,
  writes: PROPOSES,
  summary: 'Propose a notification to another agent for approval',
  guidance: GUIDANCE,
  input: z.strictObject({
    ...common,
    agent_card_url: agentUrl.describe('https URL of the A2A card of the agent to notify'),
    text: exactly(8_000),
  }),
  output: outboundRecord,
  problems: PROBLEMS,
  examples: [
    {
      name: 'a partner',
      input: {
        idempotency_key: 'spring-sale:partner:note',
        agent_card_url: 'https://partner.example/.well-known/agent-card.json',
        text: notificationExample.content.text,
      },
      output: notificationExample,
    },
  ],
});

export const getOutboundRequest = defineToolOperation({
  id: 'getOutboundRequest',
  kind: 'query',
  scope: OUTBOUND_SCOPES,
  summary: 'Read an outreach request: its approval, and what became of it',
  guidance:
    'confirmed means that the receiver said so. outcome_unknown means that it may have left: do not ' +
    'propose it again before a person has looked.',
  next: 'when it waits for approval, ask again later; only people can approve.',
  input: z.strictObject({ outbound_id: outboundId }),
  output: outboundRecord,
  problems: ['scope_missing', 'parameter_invalid', 'resource_not_found'],
  examples: [
    {
      name: 'a post that waits for approval',
      after: 'requestSocialPost',
      input: { outbound_id: postExample.id },
      output: postExample,
    },
  ],
});

export const cancelOutboundRequest = defineToolOperation({
  id: 'cancelOutboundRequest',
  kind: 'command',
  writes: ['OutboundCanceled', 'RequestBound'],
  scope: OUTBOUND_SCOPES,
  summary: 'Cancel an outreach request that has not been sent',
  guidance: 'Works until it is dispatched; after that nothing can call it back.',
  next: 'propose a new request if something else is to be said.',
  // It ends the request, and with it the approvals that people gave.
  destructive: true,
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    outbound_id: outboundId,
    reason: line(500).optional().describe('Why, for the people who decide'),
  }),
  output: outboundRecord,
  problems: [...WRITE_PROBLEMS, 'scope_missing', 'resource_not_found', 'state_conflict'],
  examples: [
    {
      name: 'a post that is no longer needed',
      after: 'requestSocialPost',
      input: { idempotency_key: 'spring-sale:KIT-101:stop', outbound_id: postExample.id },
      output: { ...postExample, status: 'canceled', version: 1 },
    },
  ],
});
