/** Whether the person who approves differs from those who asked or approved before. */
import type { EventData, EventType } from '#contracts/registries/events.ts';
import { DESK } from '#src/calls/audit.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { SYSTEM_TOKEN } from '#src/calls/rules.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import type { ReadModels } from '#src/ports/read-model.ts';
import { accessScope, type DeskTokenRow, type PersonRow } from '#src/ports/rows.ts';
import type { Call } from '#src/shared/call.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';
import { isOnePerson, type Person } from '#src/shared/person.ts';
import { present } from '#src/shared/json.ts';
import { DAY_MS, iso } from '#src/shared/time.ts';
import { streamOfPerson, streamOfToken } from '#src/writing/streams.ts';

const ACTOR = 'desk:';

/** The id of the person or of the desk token that acted; undefined for agents and for the service itself. */
export const idAtDesk = (actor: string): string | undefined =>
  actor.startsWith(ACTOR) ? actor.slice(ACTOR.length) : undefined;

const isAtDesk = (actor: string): boolean => idAtDesk(actor) !== undefined;

/** Whether an id is that of a person who signs in. */
export const isPersonId = (id: string): boolean => id.startsWith('per_');

/** For so long a person is not independent of who invited them, or gave them their roles. */
const INVITED_MS = DAY_MS;
const GIVES_RIGHTS: ReadonlySet<string> = new Set<EventType>([
  'PersonInvited',
  'PersonInvitedAgain',
  'PersonRolesChanged',
]);

/** Who somebody at the desk is: undefined for the machine. `by`: the actors on whom they depend. */
type Holder = { person: Person | undefined; by: string[] };

const holderOf = async ({ log }: Pick<Deps, 'log'>, id: string, at: number): Promise<Holder> => {
  if (isPersonId(id)) {
    const events = await log.readStream(streamOfPerson(id));
    const named = events.findLast(({ type }) => NAMES_PERSON.has(type));
    const given = events.filter(
      ({ type, meta }) => GIVES_RIGHTS.has(type) && at < meta.at + INVITED_MS,
    );
    return {
      person: named?.data as EventData<'PersonInvited'> | undefined,
      by: given.map(({ meta }) => meta.actor),
    };
  }
  const [issued] = await log.readStream(streamOfToken(id));
  // The root token, which the service issues for the command line, belongs to the machine and to no person.
  return !issued || idAtDesk(issued.meta.actor) === SYSTEM_TOKEN
    ? { person: undefined, by: [] }
    : { person: issued.data as EventData<'DeskTokenIssued'>, by: [issued.meta.actor] };
};
const NAMES_PERSON: ReadonlySet<string> = new Set<EventType>(['PersonInvited', 'PersonRecognized']);

/**
 * Reads who somebody at the desk is, and after that the people on whom they depend at `at`: who issued their token, or
 * invited them within the last day, and so on. Empty for the machine, which is no person.
 */
const holdersOf = async (deps: Pick<Deps, 'log'>, actor: string, at: number): Promise<Person[]> => {
  const holders: Person[] = [];
  const seen = new Set<string>();
  const next = [actor];
  for (const one of next) {
    const id = idAtDesk(one);
    if (id === undefined || seen.has(id)) continue;
    seen.add(id);
    const { person, by } = await holderOf(deps, id, at);
    if (!person) continue;
    holders.push(person);
    next.push(...by);
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
  'You asked for this, or one of the people involved issued the token of another of them, or invited them within a day. ' +
    'Another person must approve it.',
);

export const MACHINE = refuse(
  'approver_not_independent',
  "The machine's own token is no person, so it is never the second one. Approve with the token of another person: " +
    'invite one with tributary people invite, or issue a token with tributary token issue.',
);

/** Whether all actors are the machine: the root token, which no person issued. */
export const everyIsMachine = async (
  deps: Pick<Deps, 'log'>,
  actors: readonly string[],
): Promise<boolean> => {
  for (const actor of actors)
    if (!isAtDesk(actor) || (await holdersOf(deps, actor, -Infinity)).length > 0) return false;
  return true;
};

/** Whether one depends on the other, directly or through other people. Each list begins with the holder. */
const isIssuedBetween = (
  [person, ...issuers]: readonly Person[],
  [other, ...otherIssuers]: readonly Person[],
): boolean => includesPerson(otherIssuers, person) || includesPerson(issuers, other);

/**
 * Refuses an approver who issued their own token, or who is not independent of the people who asked or approved before:
 * one of them issued the token of the other, or invited them within a day. An asker must also be another person. Also refuses
 * the machine, where somebody at the desk asked or approved before: it is no person. All are actors: `desk:` and the id of a
 * person or a token. A second approval of one person is not refused here; it does not count.
 */
export const refuseDependent = async (
  deps: Pick<Deps, 'log'>,
  { actor: approver, at }: Pick<Call, 'actor' | 'at'>,
  others: { askers: readonly string[]; approvers?: readonly string[] },
): Promise<Refusal | undefined> => {
  const holders = await holdersOf(deps, approver, at);
  const [person, ...issuers] = holders;
  if (!person)
    return [...others.askers, ...(others.approvers ?? [])].some(isAtDesk) ? MACHINE : undefined;
  if (includesPerson(issuers, person)) return SELF_ISSUED;
  for (const asker of others.askers) {
    const asking = await holdersOf(deps, asker, at);
    if (includesPerson(asking.slice(0, 1), person) || isIssuedBetween(holders, asking))
      return NOT_INDEPENDENT;
  }
  for (const earlier of others.approvers ?? [])
    if (isIssuedBetween(holders, await holdersOf(deps, earlier, at))) return NOT_INDEPENDENT;
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

/** Finds the name of the person who is an actor; undefined for any other actor. Names never change. */
type PersonName = (actor: string) => Promise<string | undefined>;

/** What use cases need that name the people of events. */
export type PeopleDeps = Deps & { personName: PersonName };

export const personNameIn =
  (readModels: Pick<ReadModels, 'get'>): PersonName =>
  async (actor) => {
    const id = idAtDesk(actor);
    if (id === undefined) return undefined;
    const scope = accessScope(DESK, isPersonId(id) ? 'person' : 'desk');
    return (await readModels.get<DeskTokenRow | PersonRow>('access', scope, id))?.name;
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
