import { z } from 'zod';
import { linkPostExample, notificationExample, postExample } from '#contracts/examples/records.ts';
import {
  httpsUrl,
  externalId,
  id,
  idempotencyKey,
  impersonal,
  line,
  text,
  time,
} from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import { defineToolOperation, type ToolOperation } from '#contracts/operation.ts';
import { WRITE_PROBLEMS } from '#contracts/problems.ts';
import { OUTBOUND_SCOPES } from '#contracts/scopes.ts';
import { MESSAGE_CHANNELS, NETWORKS, outboundRecord } from './outbound.records.ts';

/** A name of an account or a recipient; an address would be personal data in the log. */
const reference = (what: string) =>
  impersonal(line(128), /@|\+?\d[\d ()-]{6,}/).describe(`${what}, never an address`);

const exactText = (max: number) =>
  text(max).describe('The exact text that people approve and that is sent');

const outboundId = id('out').describe('Id of the outreach request');

const common = {
  idempotency_key: idempotencyKey,
  link_ids: z
    .array(id('lnk'))
    .max(LIMITS.OUTREACH_LINKS_MAX)
    .default([])
    .describe('Ids of your links whose short_url is in the text'),
  not_before: time.optional().describe('Earliest time of sending'),
  not_after: time
    .optional()
    .describe(
      `Time of expiry; default: ${LIMITS.OUTREACH_DAYS_DEFAULT} days from now, at most ${LIMITS.OUTREACH_DAYS_MAX}`,
    ),
  external_id: externalId.optional(),
  revises: id('out')
    .optional()
    .describe('A request of the same kind that this one replaces: new content needs new approval'),
};

const proposal = <Fields extends z.ZodRawShape>({
  fields,
  ...operation
}: Pick<ToolOperation, 'scope' | 'summary' | 'examples'> & { fields: Fields }) =>
  defineToolOperation({
    ...operation,
    kind: 'command',
    openWorld: true,
    writes: ['OutboundProposed', 'OutboundRevised', 'RequestBound'],
    guidance:
      'Only proposes: nothing is sent until people of the owner have approved exactly this text. A text with a link ' +
      'must have a disclosure: that of the link record, "Promotional link" or #ad.',
    brief:
      'Only proposes: people of the owner approve exactly this text, or nothing is sent. A text with a link must have ' +
      'the disclosure of the link record, "Promotional link" or #ad.',
    next: 'getOutboundRequest shows the decision; if changes are requested, send the new text with revises.',
    input: z.strictObject({ ...common, ...fields }),
    output: outboundRecord,
    problems: [
      ...WRITE_PROBLEMS,
      'scope_missing',
      'resource_not_found',
      'approver_missing',
      'outreach_halted',
      'channel_not_verified',
      'disclosure_missing',
      'state_conflict',
    ],
  });

const examplePost = { network: 'mastodon', account_ref: 'shop-account' };

export const requestSocialPost = proposal({
  scope: 'social:write',
  summary: 'Propose a social post for approval',
  fields: {
    network: z.enum(NETWORKS).describe('The social network'),
    account_ref: reference("Name of the owner's account"),
    text: exactText(5_000),
  },
  examples: [
    {
      name: 'a post',
      input: {
        idempotency_key: 'spring-sale:KIT-101:post',
        ...examplePost,
        text: postExample.content.text,
      },
      output: postExample,
    },
    {
      name: 'a post with a link and its disclosure',
      after: 'createLink',
      input: {
        idempotency_key: 'spring-sale:KIT-101:link-post',
        ...examplePost,
        text: linkPostExample.content.text,
        link_ids: linkPostExample.content.link_ids,
      },
      output: linkPostExample,
    },
  ],
});

const exampleMail = {
  subject: 'Stoneware mugs in stock',
  text: 'Stoneware mugs are back in stock. Reply for a list.',
};
const exampleList = { channel: 'email', recipient_ref: 'list:cafe-owners' };

export const requestMessage = proposal({
  scope: 'messages:write',
  summary: 'Propose a message for approval',
  fields: {
    channel: z.enum(MESSAGE_CHANNELS).describe('How the message is sent'),
    recipient_ref: reference("The owner's name for the recipient, a list or a contact"),
    subject: line(200).optional().describe('Subject line'),
    text: exactText(8_000),
  },
  examples: [
    {
      name: 'to a list',
      input: { idempotency_key: 'spring-sale:cafes:mail', ...exampleList, ...exampleMail },
      output: {
        ...postExample,
        kind: 'message',
        target: exampleList,
        content: { ...exampleMail, link_ids: [] },
      },
    },
  ],
});

export const requestAgentNotification = proposal({
  scope: 'agents:notify',
  summary: 'Propose a notification to another agent for approval',
  fields: {
    agent_card_url: httpsUrl.describe('https URL of the A2A card of the agent to notify'),
    text: exactText(8_000),
  },
  examples: [
    {
      name: 'a partner',
      input: {
        idempotency_key: 'spring-sale:partner:note',
        agent_card_url: notificationExample.target.agent_card_url,
        text: notificationExample.content.text,
      },
      output: notificationExample,
    },
  ],
});

export const getOutboundRequest = defineToolOperation({
  kind: 'query',
  scope: OUTBOUND_SCOPES,
  summary: 'Read an outreach request: its approval and its outcome',
  guidance:
    'confirmed: the receiver acknowledged it. outcome_unknown: it may have been sent; do not propose it again ' +
    'before a person has checked.',
  next: 'while it waits for approval, call again later; only people can approve.',
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
  kind: 'command',
  writes: ['OutboundCanceled', 'RequestBound'],
  scope: OUTBOUND_SCOPES,
  summary: 'Cancel an outreach request that has not been sent',
  guidance: 'Possible until it is dispatched; after that it cannot be recalled.',
  next: 'propose a new request to send another text.',
  // It ends the request and its approvals.
  destructive: true,
  input: z.strictObject({
    idempotency_key: idempotencyKey,
    outbound_id: outboundId,
    reason: line(500).optional().describe('Reason, shown to the people who decide'),
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

export const outreachAgentOperations = {
  cancelOutboundRequest,
  getOutboundRequest,
  requestAgentNotification,
  requestMessage,
  requestSocialPost,
};
