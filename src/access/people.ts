/** The names of people at the desk, beside the tokens by which events name them. */
import type { ReadModels } from '#src/ports/read-model.ts';
import { accessScope, type DeskTokenRow } from '#src/ports/rows.ts';
import { tokenOf } from './independence.ts';
import { DESK } from '#src/calls/audit.ts';
import type { Deps } from '#src/calls/call.ts';
import { present } from '#src/shared/present.ts';

/** Finds the name of the person who is an actor; undefined for any other actor. A desk token never changes its name. */
export type PersonName = (actor: string) => Promise<string | undefined>;

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
