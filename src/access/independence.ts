/** Whether the person who approves differs from those who asked or approved before. */
import { isOnePerson, type Person } from '#src/shared/person.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import type { PersonName } from './people.ts';
import { SYSTEM_TOKEN } from '#src/calls/desk-rules.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';
import { streamOfToken } from '#src/writing/streams.ts';
import { present } from '#src/shared/present.ts';
import { iso } from '#src/shared/time.ts';
import type { Deps } from '#src/calls/call.ts';

const ACTOR = 'desk:';

/** The desk token of an actor; undefined for agents and for the service itself. */
export const tokenOf = (actor: string): string | undefined =>
  actor.startsWith(ACTOR) ? actor.slice(ACTOR.length) : undefined;

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

/** Whether one issued a token of the other, directly or through other people. Each list begins with the holder. */
const isIssuedBetween = (
  [person, ...issuers]: readonly Person[],
  [other, ...otherIssuers]: readonly Person[],
): boolean => includesPerson(otherIssuers, person) || includesPerson(issuers, other);

/**
 * Refuses an approver who issued their own token, or who is not independent of the people who asked or approved before:
 * one of them issued the token of the other. An asker must also be another person. All are actors: `desk:` and the id of
 * a token. A second approval of one person is not refused here; it does not count.
 */
export const refuseDependent = async (
  deps: Pick<Deps, 'log'>,
  approver: string,
  others: { askers: readonly string[]; approvers?: readonly string[] },
): Promise<Refusal | undefined> => {
  const holders = await holdersOf(deps, approver);
  const [person, ...issuers] = holders;
  if (!person) return undefined;
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
