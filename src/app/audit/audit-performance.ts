import type { OwnerAuditDeps, AuditHandler } from './audit-handler.ts';
import type { DeskInput } from '../pipeline/desk-handler.ts';
import { done, isRefusal, type Outcome } from '../pipeline/outcome.ts';
import { countPerformance } from '../performance/get-performance.ts';
import type { InputOf } from '../pipeline/agent-handler.ts';
import { auditedMoment, type Moment, renderMoment } from './moments.ts';
import type { Replay } from './replays.ts';

type Question = { owner: string; moment: Moment; input: Partial<InputOf<'getPerformance'>> };

/** Counts the performance of a folded owner as the operation of agents counts that of the live read model. */
export const countReplay = async (
  deps: OwnerAuditDeps,
  { rows, facts }: Pick<Replay, 'rows' | 'facts'>,
  { owner, moment, input }: Question,
): ReturnType<typeof countPerformance> => {
  const { position, at, shownAt } = moment;
  const folded = {
    ...deps,
    facts,
    readModels: rows,
    following: { ...deps.following, asOf: () => ({ position, at }) },
  };
  const asked = { granularity: 'day' as const, time_zone: 'UTC', ...input };
  return countPerformance(folded, asked, { ownerId: owner, at: shownAt });
};

export const auditPerformance: AuditHandler<'auditPerformance'> = async (deps, question, call) => {
  const { owner_id: owner, at, ...input }: DeskInput<'auditPerformance'> = question;
  const moment = await auditedMoment(deps, call, { owner, field: 'at', text: at });
  if (isRefusal(moment)) return moment;
  const { position } = moment;
  return deps.replays.at(deps.log, { owner, position }, async (replay) => {
    const counted = await countReplay(deps, replay, { owner, moment, input });
    return counted.ok ? done({ ...counted.value, as_of: renderMoment(moment) }) : counted;
  }) satisfies Promise<Outcome<unknown>>;
};
