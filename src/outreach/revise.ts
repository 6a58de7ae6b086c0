/** The edit of a proposal by a person, who proposes the new text. */
import { POST_CHARS_MAX } from '#contracts/outreach/operations.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';
import { isRefusal, refuse, refuseField } from '#src/shared/outcome.ts';
import { issue } from '#src/writing/decide-and-append.ts';
import { linkOf } from '#src/writing/streams.ts';
import { DESK_PROBLEMS, requestOwner } from './approvals.ts';
import { complete, holds } from './propose.ts';
import { changeRequest, NO_REQUEST } from './requests.ts';

const NO_TEXT = refuse(
  'state_conflict',
  'A delivery has no text to change: refuse it with the reason.',
);
const NO_SUBJECT = refuseField('/subject', 'not_allowed', 'only a message has a subject');
const TOO_LONG = refuseField('/text', 'too_big', `a post has at most ${POST_CHARS_MAX} characters`);
const UNCHANGED = refuseField('/text', 'unchanged', 'is the text that waits already');

/** The links of a request that are in its new text. */
const linksIn = async (
  deps: Pick<Deps, 'log'>,
  ownerId: string,
  { text, link_ids }: { text: string; link_ids: readonly string[] },
): Promise<string[]> => {
  const links = await Promise.all(link_ids.map((id) => linkOf(deps, ownerId, id)));
  return links.flatMap((link) => (link && holds(text, link.short_url) ? [link.link_id] : []));
};

export const reviseOutbound: DeskHandler<'reviseOutbound'> = async (deps, input, call) => {
  const { outbound_id: id, content_sha256: contentSha256, subject, text } = input;
  const ownerId = await requestOwner(deps, call, input);
  if (ownerId === undefined) return NO_REQUEST;
  return changeRequest(deps, call, {
    ownerId,
    id,
    problems: DESK_PROBLEMS,
    async command(state) {
      if (!state) return NO_REQUEST;
      const { agent_id, kind, target, schedule, content, external_id } = state;
      if (kind === 'handoff_delivery') return NO_TEXT;
      if (kind !== 'message' && subject !== undefined) return NO_SUBJECT;
      if (kind === 'social_post' && text.length > POST_CHARS_MAX) return TOO_LONG;
      if (text === content.text && subject === content.subject) return UNCHANGED;
      const revision = state.revision + 1;
      const about = { outbound_id: id, agent_id, kind, target, schedule, revision, external_id };
      const link_ids = await linksIn(deps, ownerId, { text, link_ids: content.link_ids });
      const proposal = await complete(deps, ownerId, {
        about,
        written: { subject, text, link_ids },
      });
      if (isRefusal(proposal)) return proposal;
      return issue({ type: 'Revise' as const, at: call.at, proposal, contentSha256 });
    },
  });
};
