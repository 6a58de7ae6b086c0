/** The operation that changes or stops a link. What people approved with it is not changed under them. */
import type { OwnRecord } from '#contracts/records/records.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { Deps, Handler, InputOf } from '#src/calls/handlers.ts';
import { requireCurrent } from '#src/calls/failure.ts';
import { resolveTarget } from '#src/catalog/products.ts';
import { withUtm, renderLink, shownNameOfLink } from '#src/links/links.ts';
import { link, type LinkCommand, type LinkState } from '#src/links/link.decider.ts';
import {
  isUndispatched,
  outbound,
  type OutboundState,
  statusAt,
} from '#src/outreach/outbound.decider.ts';
import { envelopeHash, envelopeOf } from '#src/sending/envelope.ts';
import { listBy } from '#src/ports/rows.ts';
import { listing } from '#src/reading/lists.ts';
import { type AgentCall, unkeyed } from '#src/shared/call.ts';
import {
  done,
  isRefusal,
  type Outcome,
  type Refusal,
  refuse,
  refuseField,
} from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { endFault, epoch } from '#src/shared/time.ts';
import { decideAndAppend, issue, readReplay, traceOf } from '#src/writing/decide-and-append.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import { linkOf, streamOf } from '#src/writing/streams.ts';

type Input = InputOf<'updateLink'>;

const NO_LINK = refuse('resource_not_found', 'There is no such link.');
const NOTHING = refuse('validation_failed', 'Nothing is changed.', {
  errors: [{ pointer: '/target', code: 'required', detail: 'send target, expires_at or stop' }],
});
const STOPS_ONLY = refuseField(
  '/stop',
  'not_together',
  'a link that is stopped has no other change',
);

export const updateLink: Handler<'updateLink'> = async (deps, input, call) => {
  const { ownerId, caller } = call;
  const { link_id, target } = input;
  const stream = streamOf(ownerId, 'link', link_id);
  const first = await readReplay(deps, call, { stream, decider: link });
  if (first) return first.ok ? answer(deps, call, first) : first;
  const state = await linkOf(deps, ownerId, link_id);
  // No agent may change the link of another one.
  if (state?.agent_id !== caller.agentId) return NO_LINK;
  const command = commandOf(deps, call, { input, state });
  if (isRefusal(command)) return command;
  const kept = target && (await voidApprovals(deps, call, link_id, () => true));
  if (kept) return kept;
  const written = await decideAndAppend(deps, call, {
    stream,
    decider: link,
    command: () => issue(command),
  });
  if (!written.ok) return 'rejected' in written ? refuseRejected(written, NO_LINK) : written;
  // What people approved while the link was changed, they approved for its former target.
  if (target) await voidApprovals(deps, call, link_id, ({ decisions }) => decisions.length > 0);
  return answer(deps, call, written);
};

const answer = (
  deps: Deps,
  { ownerId, at }: AgentCall,
  written: Parameters<typeof traceOf>[0] & { state: LinkState },
): Outcome<OwnRecord<'link'>> =>
  done(
    {
      ...renderLink(ownerId, written.state, at),
      ...present({ name: shownNameOfLink(deps, written.state) }),
    },
    traceOf(written),
  );

const commandOf = (
  deps: Deps,
  call: AgentCall,
  { input: { target, expires_at, stop }, state }: { input: Input; state: LinkState },
): LinkCommand | Refusal => {
  if (stop) {
    if (target !== undefined || expires_at !== undefined) return STOPS_ONLY;
    return { type: 'DisableLink', reason: 'stopped by its agent' };
  }
  if (target === undefined && expires_at === undefined) return NOTHING;
  const end = expires_at === undefined ? undefined : epoch(expires_at);
  const fault = end !== undefined && endFault(end, call.at, LIMITS.LINK_DAYS_MAX);
  if (fault) return refuseField('/expires_at', 'out_of_range', fault);
  const found = target && resolveTarget(deps, target, '/target');
  if (isRefusal(found)) return found;
  const { product_id: _product, category: _category, ...dims } = state.dims;
  return {
    type: 'UpdateLink',
    change: {
      ...(found && {
        target: found.target,
        ...present({ name: found.name }),
        destination_url: withUtm(found.url, state.utm),
        dims: { ...dims, ...found.dims },
      }),
      ...present({ expires_at: end }),
    },
  };
};

const LISTED_MAX = 1_000;
/** Outreach that people saw sent, or that may have been. */
const SENT: readonly string[] = ['dispatched', 'confirmed', 'outcome_unknown'];

const sentRefusal = (id: string): Refusal =>
  refuse(
    'state_conflict',
    `The link is named by outreach that was sent, ${id}: what people approved leads to its target. Create another link, ` +
      'or ask the owner.',
  );

/**
 * Voids the approval of waiting outreach that names the link: it becomes a new revision, with the same text, which people
 * decide on again. Refuses where outreach with the link was sent.
 */
const voidApprovals = async (
  deps: Deps,
  call: AgentCall,
  linkId: string,
  isWanted: (waiting: OutboundState) => boolean,
): Promise<Refusal | undefined> => {
  await requireCurrent(deps);
  const waiting: string[] = [];
  const query = { scope: call.ownerId, list: listBy({ link: linkId }), limit: LISTED_MAX };
  for await (const page of listing<OutboundState>(deps.readModels, 'outbound', query))
    for (const { row } of page) {
      const status = statusAt(row, call.at);
      if (SENT.includes(status)) return sentRefusal(row.outbound_id);
      if (isUndispatched(status) && isWanted(row)) waiting.push(row.outbound_id);
    }
  for (const id of waiting) {
    const refusal = await voidApproval(deps, call, id);
    if (refusal) return refusal;
  }
  return undefined;
};

const voidApproval = async (
  deps: Deps,
  call: AgentCall,
  id: string,
): Promise<Refusal | undefined> => {
  const written = await decideAndAppend(deps, unkeyed(call), {
    stream: streamOf(call.ownerId, 'outbound', id),
    decider: outbound,
    command(state) {
      if (!state) throw new Error(`${id} is listed and not in the log`);
      const { kind, target, content, schedule, via, approval, agent_id, outbound_id } = state;
      const next = { outbound_id, agent_id, kind, target, content, schedule, via };
      const proposed = { ...next, revision: state.revision + 1 };
      const content_sha256 = envelopeHash(envelopeOf(call.ownerId, proposed));
      const { external_id, campaigns } = state;
      const proposal = {
        ...proposed,
        content_sha256,
        approval,
        ...present({ external_id, campaigns }),
      };
      return issue({ type: 'Revise' as const, at: call.at, proposal });
    },
  });
  if (written.ok) return undefined;
  return 'rejected' in written ? sentRefusal(id) : written;
};
