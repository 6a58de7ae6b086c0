/** The bytes of an outreach request: people approve these bytes, and only these are sent. */
import { hash } from 'node:crypto';
import type { OutboundState } from '#src/outreach/outbound.decider.ts';
import { canonicalJson } from '#src/shared/json.ts';
import { iso } from '#src/shared/time.ts';

type Enveloped = Pick<
  OutboundState,
  'outbound_id' | 'agent_id' | 'revision' | 'kind' | 'target' | 'content' | 'schedule' | 'via'
>;

/**
 * Builds the text whose UTF-8 bytes are sent, as JCS (RFC 8785). People approve the hash of these
 * bytes, so any change of content, target, schedule or destination invalidates an approval.
 */
export const envelopeOf = (
  ownerId: string,
  { outbound_id, agent_id, revision, kind, target, content, schedule, via }: Enveloped,
): string => {
  const { not_before, not_after } = schedule;
  return canonicalJson({
    type: 'tributary.outbound',
    version: 1,
    id: outbound_id,
    revision,
    owner_id: ownerId,
    agent_id,
    kind,
    target,
    content,
    schedule: {
      ...(not_before !== undefined && { not_before: iso(not_before) }),
      not_after: iso(not_after),
    },
    via,
  });
};

export const envelopeHash = (envelope: string): string => hash('sha256', envelope, 'hex');
