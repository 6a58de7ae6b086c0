/** Whether the person who approves differs from those who asked or approved before. */
import { DESK } from '#src/calls/audit.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { SYSTEM_TOKEN } from '#src/calls/rules.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import type { ReadModels } from '#src/ports/read-model.ts';
import { accessScope, type DeskTokenRow } from '#src/ports/rows.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';
import { isOnePerson, type Person } from '#src/shared/person.ts';
import { present } from '#src/shared/present.ts';
import { iso } from '#src/shared/time.ts';
import { streamOfToken } from '#src/writing/streams.ts';

const ACTOR = 'desk:';

/** The desk token of an actor; undefined for agents and for the service itself. */
export const tokenOf = (actor: string): string | undefined =>
  actor.startsWith(ACTOR) ? actor.slice(ACTOR.length) : undefined;

const isAtDesk = (actor: string): boolean => tokenOf(actor) !== undefined;

/**
 * Reads the holder of a desk token, the person who issued it, and so on. The root token, which the service issues for
 * the command line, belongs to the machine and to no person: it has no holder and ends the list.
 */
const holdersOf = async ({ log }: Pick<Deps, 'log'>, actor: string): Promise<Person[]> => {
  const holders: Person[] = [];
  for (let tokenId = tokenOf(actor); tokenId !== undefined; ) {
    const [issued] = await log.readStream(streamOfToken(tokenId));
    const issuer = issued && tokenOf(issued.meta.actor);
    if (!issued || issuer === SYSTEM_TOKEN) break;
    holders.push(issued.data);
    tokenId = issuer;
  }
  return holders;
};

const includesPerson = (people: readonly Person[], person: Person | undefined): boolean =>
  person !== undefined && people.some((one) => isOnePerson(one, person));

const SELF_ISSUED = refuse(
  'approver_not_independent',
  'You issued this token to yourself. Approve with a token that another operator issued to you.',
);
const NOT_INDEPENDENT = refuse(
  'approver_not_independent',
  'You asked for this, or the token of one of the people involved was issued by another of them. Another person must approve it.',
);

export const MACHINE = refuse(
  'approver_not_independent',
  "The machine's own token is no person, so it is never the second one. Approve with the token of another person: " +
    'issue one with tributary token issue, and set it as DESK_TOKEN.',
);

/** Whether all actors are the machine: the root token, which no person issued. */
export const everyIsMachine = async (
  deps: Pick<Deps, 'log'>,
  actors: readonly string[],
): Promise<boolean> => {
  for (const actor of actors)
    if (!isAtDesk(actor) || (await holdersOf(deps, actor)).length > 0) return false;
  return true;
};

/** Whether one issued a token of the other, directly or through other people. Each list begins with the holder. */
const isIssuedBetween = (
  [person, ...issuers]: readonly Person[],
  [other, ...otherIssuers]: readonly Person[],
): boolean => includesPerson(otherIssuers, person) || includesPerson(issuers, other);

/**
 * Refuses an approver who issued their own token, or who is not independent of the people who asked or approved before:
 * one of them issued the token of the other. An asker must also be another person. Also refuses the machine, where somebody
 * at the desk asked or approved before: it is no person. All are actors: `desk:` and the id of a token. A second approval of
 * one person is not refused here; it does not count.
 */
export const refuseDependent = async (
  deps: Pick<Deps, 'log'>,
  approver: string,
  others: { askers: readonly string[]; approvers?: readonly string[] },
): Promise<Refusal | undefined> => {
  const holders = await holdersOf(deps, approver);
  const [person, ...issuers] = holders;
  if (!person)
    return [...others.askers, ...(others.approvers ?? [])].some(isAtDesk) ? MACHINE : undefined;
  if (includesPerson(issuers, person)) return SELF_ISSUED;
  for (const asker of others.askers) {
    const asking = await holdersOf(deps, asker);
    if (includesPerson(asking.slice(0, 1), person) || isIssuedBetween(holders, asking))
      return NOT_INDEPENDENT;
  }
  for (const earlier of others.approvers ?? [])
    if (isIssuedBetween(holders, await holdersOf(deps, earlier))) return NOT_INDEPENDENT;
  return undefined;
};

/** The actor of the newest event of these types; empty if there is none. */
export const actorOfLast = (stored: readonly StoredEvent[], types: readonly string[]): string[] => {
  const last = stored.findLast(({ type }) => types.includes(type));
  return last ? [last.meta.actor] : [];
};

/** Who proposed the newest move of these types, and when, as the desk shows it. */
export const proposerOf = async (
  { personName }: { personName: PersonName },
  stored: readonly StoredEvent[],
  types: readonly string[],
) => {
  const { actor = '', at = 0 } = stored.findLast(({ type }) => types.includes(type))?.meta ?? {};
  return { by: actor, ...present({ by_name: await personName(actor) }), at: iso(at) };
};

/** Finds the name of the person who is an actor; undefined for any other actor. A desk token never changes its name. */
type PersonName = (actor: string) => Promise<string | undefined>;

/** What use cases need that name the people of events. */
export type PeopleDeps = Deps & { personName: PersonName };

export const personNameIn =
  (readModels: Pick<ReadModels, 'get'>): PersonName =>
  async (actor) => {
    const token = tokenOf(actor);
    if (token === undefined) return undefined;
    return (await readModels.get<DeskTokenRow>('access', accessScope(DESK, 'desk'), token))?.name;
  };

export const namePeople = async (
  { personName }: { personName: PersonName },
  actors: readonly string[],
): Promise<Record<string, string>> => {
  const names: Record<string, string> = {};
  for (const actor of new Set(actors))
    Object.assign(names, present({ [actor]: await personName(actor) }));
  return names;
};

export const withPeople = async <Item extends { actor: string }>(
  deps: { personName: PersonName },
  items: readonly Item[],
): Promise<(Item & { actor_name?: string })[]> => {
  const names = await namePeople(
    deps,
    items.map(({ actor }) => actor),
  );
  return items.map((item) => ({ ...item, ...present({ actor_name: names[item.actor] }) }));
};
