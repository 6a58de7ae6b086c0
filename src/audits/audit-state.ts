/** The operations that show an owner's records and performance at a moment. */
import type { z } from 'zod';
import { AUDITED_KIND_NAMES, type AuditedKind } from '#contracts/audits/operations.ts';
import type { Row } from '#src/ports/read-model.ts';
import type { DeskOperationId, DeskOperations } from '#contracts/registries/desk.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import type { InputOf } from '#src/calls/handlers.ts';
import type { DeskInput } from '#src/calls/desk-handler.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { SYSTEM_TOKEN } from '#src/calls/rules.ts';
import { done, isRefusal, type Outcome, type Refusal, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { agentNameOf, AUDITED, renderAudited } from './audited-records.ts';
import { auditedMoment, type Moment, type OwnerLog, renderMoment } from './moments.ts';
import type { Replay, AuditingDeps } from './replays.ts';
import { chooseMetrics, countPerformance } from '#src/performance/get-performance.ts';
import type { OpeningVault } from '#src/sealing/sealed-texts.ts';

/** What audits need that an exported file also answers: a log that is read by owner, and the read models at its end. */
export type OwnerAuditDeps = Pick<
  AuditingDeps,
  | 'replays'
  | 'personName'
  | 'readModels'
  | 'facts'
  | 'following'
  | 'secrets'
  | 'clock'
  | 'classifierVersion'
> & { log: OwnerLog & Pick<EventLog, 'readOwnerFold'>; vault: OpeningVault };

export type AuditHandler<Id extends DeskOperationId> = (
  deps: OwnerAuditDeps,
  input: DeskInput<Id>,
  call: DeskCall,
) => Promise<Outcome<z.output<DeskOperations[Id]['output']>>>;

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
  const asked = { granularity: 'day', time_zone: 'UTC', zeros: 'show', ...input } as const;
  return countPerformance(folded, asked, { ownerId: owner, at: shownAt });
};

export const auditPerformance: AuditHandler<'auditPerformance'> = async (deps, question, call) => {
  const { owner_id: owner, at, ...input }: DeskInput<'auditPerformance'> = question;
  const moment = await auditedMoment(deps, call, { owner, field: 'at', text: at });
  if (isRefusal(moment)) return moment;
  const { position } = moment;
  return deps.replays.at(deps.log, { owner, position }, async (replay) => {
    const counted = await countReplay(deps, replay, { owner, moment, input });
    if (!counted.ok) return counted;
    const { value } = chooseMetrics(counted, input);
    return done({ ...value, as_of: renderMoment(moment) });
  }) satisfies Promise<Outcome<unknown>>;
};

/** The vault, if the call may open personal data: the reason is recorded with the token of the caller. */
export const vaultFor = (
  { vault }: Pick<OwnerAuditDeps, 'vault'>,
  { caller }: DeskCall,
  reason: string | undefined,
): { vault: OwnerAuditDeps['vault'] | undefined } | Refusal => {
  if (reason === undefined) return { vault: undefined };
  if (!caller.roles.has('auditor') || caller.id === SYSTEM_TOKEN)
    return refuse(
      'role_missing',
      'Only a desk token with the role auditor opens personal data, through a running service: the reason is recorded.',
    );
  return { vault };
};

type Listed = { kind: AuditedKind; row: Row; sort: number };

export const auditState: AuditHandler<'auditState'> = async (deps, input, call) => {
  const { owner_id: owner, kind: kinds, before, limit, reason } = input;
  const moment = await auditedMoment(deps, call, { owner, field: 'at', text: input.at });
  if (isRefusal(moment)) return moment;
  const opening = vaultFor(deps, call, reason);
  if (isRefusal(opening)) return opening;
  const { position, shownAt } = moment;
  const isAsked = (name: string): boolean => kinds?.some((kind) => kind === name) ?? true;
  return deps.replays.at(deps.log, { owner, position }, async (replay) => {
    const listed: Listed[] = [];
    for (const kind of AUDITED_KIND_NAMES) {
      if (!isAsked(kind)) continue;
      const { readModel, scope } = AUDITED[kind];
      const query = { scope: scope(owner), limit: limit + 1, ...present({ before }) };
      for (const { row, sort } of await replay.rows.list(readModel, query))
        listed.push({ kind, row, sort });
    }
    // A record's place is the position of its first event, so no two kinds share one.
    listed.sort((a, b) => b.sort - a.sort);
    const shown = listed.slice(0, limit);
    const counted =
      isAsked('performance') && before === undefined
        ? await countReplay(deps, replay, { owner, moment, input: {} })
        : undefined;
    if (counted && isRefusal(counted)) return counted;
    return done({
      data: await Promise.all(
        shown.map(({ kind, row }) =>
          renderRow(replay, { kind, row, owner, at: shownAt, vault: opening.vault }),
        ),
      ),
      ...(counted && {
        performance: {
          data: counted.value.data,
          totals: counted.value.totals,
          period: counted.value.period,
        },
      }),
      next_before: listed.length > limit ? (shown.at(-1)?.sort ?? null) : null,
      as_of: renderMoment(moment),
    });
  }) satisfies Promise<Outcome<unknown>>;
};

const renderRow = async (
  replay: Replay,
  {
    kind,
    row,
    owner,
    ...view
  }: {
    kind: AuditedKind;
    row: Row;
    owner: string;
    at: number;
    vault: OwnerAuditDeps['vault'] | undefined;
  },
) => {
  const { id, name, agentId } = AUDITED[kind];
  const agent_id = agentId(row);
  return {
    kind,
    id: id(row),
    name: name(row),
    ...present({ agent_id, agent_name: await agentNameOf(replay, owner, agent_id) }),
    ...(await renderAudited(kind, row, { ...view, ownerId: owner })),
  };
};
