/** The operation that answers a recorded question again, as of its position, and compares the hashes. */
import type { z } from 'zod';
import type { DeskOperations } from '#contracts/registries/desk.ts';
import type { EventData } from '#contracts/registries/events.ts';
import { type DeskHandler, mayActFor } from '#src/calls/desk-handler.ts';
import type { InputOf } from '#src/calls/handlers.ts';
import { answerLeads } from '#src/leads/list-leads.ts';
import {
  answerVersion,
  hashOfAnswer,
  openQuestion,
  type RecordedQuestion,
} from '#src/owners/recorded-answers.ts';
import { answerPerformance } from '#src/performance/get-performance.ts';
import type { Position, StoredEvent } from '#src/ports/event-log.ts';
import type { ReadModels } from '#src/ports/read-model.ts';
import type { OpeningVault } from '#src/sealing/sealed-texts.ts';
import { suppressionInRows } from '#src/sealing/suppression.ts';
import { done, isRefusal, type Outcome, type Refusal, refuse } from '#src/shared/outcome.ts';
import { epoch, iso } from '#src/shared/time.ts';
import { vaultFor } from './audit-state.ts';
import { findWritten } from './audit-trace.ts';
import { showSealed } from './audited-records.ts';
import type { AuditingDeps, Replay } from './replays.ts';

type Replayed = z.output<DeskOperations['auditReplay']['output']>;
type Entry = EventData<'ActivityRecorded'>['entries'][number];
type Found = { owner: string; agent_id: string; entry: Entry };

const NOT_FOUND = refuse(
  'resource_not_found',
  'No read of an agent in the log has this id. A read is in the log within a second.',
);

const findRead = async (
  deps: AuditingDeps,
  call: Parameters<typeof findWritten>[1],
  query: { id: string; owner: string | undefined },
): Promise<Found | undefined> => {
  const { events } = await findWritten(deps, call, query);
  return events.flatMap((event) => readIn(event, query.id))[0];
};

const readIn = ({ type, data, owner }: StoredEvent, id: string): Found[] => {
  if (type !== 'ActivityRecorded') return [];
  const { agent_id, entries } = data as EventData<'ActivityRecorded'>;
  return entries
    .filter(({ request_id }) => request_id === id)
    .map((entry) => ({ owner, agent_id, entry }));
};

/** Read models that no fold of an owner has, which are read as they are now. */
const READ_NOW: ReadonlySet<string> = new Set(['mailboxes', 'handoff-leads']);

const rowsAt = (now: ReadModels, { rows }: Pick<Replay, 'rows'>): ReadModels => ({
  get: (name, scope, key) => (READ_NOW.has(name) ? now : rows).get(name, scope, key),
  list: (name, query) => (READ_NOW.has(name) ? now : rows).list(name, query),
});

type Asking = { owner: string; operation: string; question: RecordedQuestion; position: Position };

/** What operations read, as it was at a position: rows of the owner, its streams, the time, and who refused contact. */
const depsAt = (deps: AuditingDeps, replay: Replay, { question, position }: Asking) => {
  const { as_of, at, cursor_at = at } = question;
  const { log } = deps;
  const reflected = { position: as_of.position, at: as_of.at === null ? null : epoch(as_of.at) };
  const suppressedNow = suppressionInRows(deps);
  return {
    ...deps,
    facts: replay.facts,
    readModels: rowsAt(deps.readModels, replay),
    following: { ...deps.following, asOf: () => reflected },
    clock: { now: () => cursor_at },
    log: {
      head: () => log.head(),
      readBack: (query: Parameters<typeof log.readBack>[0]) => log.readBack(query),
      readStream: async (stream: string) =>
        (await log.readStream(stream)).filter((event) => event.position <= position),
    },
    async suppression(ownerId: string, email: string) {
      const since = await suppressedNow(ownerId, email);
      return since !== undefined && since <= at ? since : undefined;
    },
  };
};

/** Performs the operation again. */
const answerAt = (
  deps: AuditingDeps,
  asking: Asking,
  vault: OpeningVault,
): Promise<Outcome<object>> => {
  const { owner, operation, question, position } = asking;
  const { input, at } = question;
  const asked = { ownerId: owner, at };
  return deps.replays.at<Outcome<object>>(deps.log, { owner, position }, (replay) => {
    const then = depsAt(deps, replay, asking);
    return operation === 'listLeads'
      ? answerLeads({ ...then, vault }, input as InputOf<'listLeads'>, asked)
      : answerPerformance(then, input as InputOf<'getPerformance'>, asked);
  });
};

type Compared = { replayed: NonNullable<Replayed['replayed']>; isEqual: boolean };

/** Answers as of what the answer says, and then with what came until it was sent. */
const compare = async (
  deps: AuditingDeps,
  asking: Omit<Asking, 'position'>,
): Promise<Compared | Refusal> => {
  const { as_of, read_up_to, sha256 } = asking.question;
  const version = answerVersion(deps);
  let last: Compared | undefined;
  for (const position of new Set([as_of.position, read_up_to])) {
    const answer = await answerAt(deps, { ...asking, position }, deps.vault);
    if (isRefusal(answer)) return answer;
    const replayed = { sha256: hashOfAnswer(answer.value), position, version };
    last = { replayed, isEqual: replayed.sha256 === sha256 };
    if (last.isEqual) break;
  }
  if (!last) throw new Error('a set with a position is empty');
  return last;
};

const WHY = {
  off: 'The owner did not have answers recorded then, or it is no read of performance or leads.',
  erased: 'What was asked was erased, or its key is lost.',
  unknown: 'The cause is unknown. Names, versions, erased data and keys are as of now.',
} as const;

export const auditReplay: DeskHandler<'auditReplay', AuditingDeps> = async (
  deps,
  { request_id, owner_id, reason },
  call,
) => {
  const found = await findRead(deps, call, { id: request_id, owner: owner_id });
  if (!found || !mayActFor(call, found.owner)) return NOT_FOUND;
  const opening = vaultFor(deps, call, reason);
  if (isRefusal(opening)) return opening;
  const { owner, agent_id, entry } = found;
  const { answer, operation, at } = entry;
  const about = { request_id, owner_id: owner, operation, agent_id, at: iso(at) };
  if (!answer) return done({ ...about, result: 'not_recorded', why: WHY.off });
  const question = await openQuestion(deps.vault, answer);
  if (!question) return done({ ...about, result: 'not_recorded', why: WHY.erased });
  const { sealed_record: _sealed, ...reflected } = answer;
  const recorded = { sha256: question.sha256, ...reflected };
  const asking = { owner, operation, question };
  const compared = await compare(deps, asking);
  if (isRefusal(compared))
    return done({ ...about, recorded, result: 'not_equal', why: `Now: ${compared.detail}` });
  const { replayed, isEqual } = compared;
  if (!isEqual)
    return done({ ...about, recorded, replayed, result: 'not_equal', why: WHY.unknown });
  const { position } = replayed;
  const shown = await showSealed(opening.vault, async (vault) => {
    const again = await answerAt(deps, { ...asking, position }, vault);
    if (isRefusal(again)) throw new Error(`${request_id} was answered and is refused`);
    return again.value;
  });
  return done({ ...about, recorded, replayed, result: 'equal', answer: shown });
};
