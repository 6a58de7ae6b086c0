/** Performance at the desk: people of the owner, staff and auditors read it as agents do. */
import { type DeskHandler, mayActFor, NO_OWNER } from '#src/calls/desk-handler.ts';
import { answerPerformance, type PerformanceDeps } from './get-performance.ts';

export const showPerformance: DeskHandler<'showPerformance', PerformanceDeps> = async (
  deps,
  { owner_id: ownerId, order_by: orderBy, ...input },
  call,
) =>
  mayActFor(call, ownerId)
    ? answerPerformance(deps, input, { ownerId, at: call.at, orderBy })
    : NO_OWNER;
