/** An agent revises or withdraws a list that its buyer has not seen. */
import type { OwnRecord } from '#contracts/records/records.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { Deps, Handler, InputOf } from '#src/calls/handlers.ts';
import type { AgentCall } from '#src/shared/call.ts';
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
import { sealAll } from '#src/sealing/sealed-texts.ts';
import { maskingDeps } from '#src/sealing/suppression.ts';
import {
  type CommandFrom,
  decideAndAppend,
  issue,
  traceOf,
} from '#src/writing/decide-and-append.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import { streamOf } from '#src/writing/streams.ts';
import { reviseDelivery } from './deliver-list.ts';
import { HANDOFF_ERASED, lineNotesIn, pricedList } from './create-handoff.ts';
import {
  handoff,
  type HandoffCommand,
  type HandoffState,
  type Revision,
} from './handoff.decider.ts';
import { ownHandoff, showHandoff } from './render-handoff.ts';

const NO_HANDOFF = refuse('resource_not_found', 'There is no such handoff.');

const REVISION_LIMITS = {
  revisions: LIMITS.HANDOFF_REVISIONS_MAX,
  lines: LIMITS.HANDOFF_REVISED_LINES_MAX,
};

type OwnHandoff = OwnRecord<'handoff'>;

/** Changes a handoff that the calling agent made. Those of other agents are not found. */
const changeOwn = async (
  deps: Deps,
  call: AgentCall,
  id: string,
  command: CommandFrom<HandoffState, HandoffCommand>,
): Promise<Outcome<OwnHandoff>> => {
  const { ownerId, caller } = call;
  const written = await decideAndAppend(deps, call, {
    stream: streamOf(ownerId, 'handoff', id),
    decider: handoff,
    command(state, stored) {
      if (!state || state.made_by_buyer || state.agent_id !== caller.agentId) return NO_HANDOFF;
      return state.erased ? HANDOFF_ERASED : command(state, stored);
    },
  });
  if (!written.ok) return 'rejected' in written ? refuseRejected(written, NO_HANDOFF) : written;
  const { state } = written;
  const shown = await showHandoff(maskingDeps(deps), state, { ownerId, at: call.at });
  return done(ownHandoff(state, shown), traceOf(written));
};

export const reviseHandoff: Handler<'reviseHandoff'> = (deps, input, call) =>
  changeOwn(deps, call, input.handoff_id, async (state) => {
    const revision = await revisionOf(deps, call, input);
    if (isRefusal(revision)) return revision;
    const { expires_at = state?.expires_at ?? 0, list } = revision;
    // The letter is voided before the list changes, so that nobody's approval covers what they did not see.
    const claims =
      state &&
      (await reviseDelivery(deps, call, {
        list: { ...state, ...list, expires_at },
        isDelivered: state.deliver === true && state.delivered_at === undefined,
      }));
    if (isRefusal(claims)) return claims;
    return issue(
      { type: 'ReviseUnseen' as const, at: call.at, limits: REVISION_LIMITS, revision },
      present({ claims }),
    );
  });

/** Makes the facts of a revision, or refuses an input that allows none. */
const revisionOf = async (
  deps: Deps,
  call: AgentCall,
  input: InputOf<'reviseHandoff'>,
): Promise<Revision | Refusal> => {
  const { handoff_id, title, note_to_buyer: note, line_items, expires_at } = input;
  if ([title, note, line_items, expires_at].every((value) => value === undefined))
    return refuse('validation_failed', 'Nothing is changed.', {
      errors: [
        { pointer: '/line_items', code: 'required', detail: 'send at least one field to change' },
      ],
    });
  const end = expires_at === undefined ? undefined : epoch(expires_at);
  const fault = end !== undefined && endFault(end, call.at, LIMITS.HANDOFF_DAYS_MAX);
  if (fault) return refuseField('/expires_at', 'out_of_range', fault);
  const priced = line_items && pricedList(deps.catalog, line_items);
  if (isRefusal(priced)) return priced;
  const sealed = await sealAll(deps.vault, handoff_id, {
    note,
    lineNotes: line_items && lineNotesIn({ line_items }),
  });
  if (sealed === null) return HANDOFF_ERASED;
  return {
    ...present({ title, sealed_note_to_buyer: sealed.note, expires_at: end }),
    ...(priced && { list: { ...priced, ...present({ sealed_line_notes: sealed.lineNotes }) } }),
  };
};

export const withdrawUnseenHandoff: Handler<'withdrawUnseenHandoff'> = async (
  deps,
  input,
  call,
) => {
  const { handoff_id: id, reason = 'withdrawn by its agent' } = input;
  return changeOwn(deps, call, id, async () => {
    const sealed = await sealAll(deps.vault, id, { reason });
    if (sealed?.reason === undefined) return HANDOFF_ERASED;
    return issue({ type: 'WithdrawUnseen' as const, at: call.at, sealedReason: sealed.reason });
  });
};
