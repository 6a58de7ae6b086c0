import type { z } from 'zod';
import type { DeskOperationId, DeskOperations } from '#contracts/registries/desk.ts';
import { testSpaceOf } from '#contracts/spaces.ts';
import type { Deps, DeskCall } from './call.ts';
import { type Outcome, refuse } from '#src/shared/outcome.ts';
import type { PersonName } from '#src/access/people.ts';
import type { Replays } from '#src/audits/replays.ts';
import type { ProjectionDesk } from '#src/reading/projection-desk.ts';

/** Dependencies of the desk, which also manages the projections and audits owners. */
export type DeskDeps = Deps & {
  projections: ProjectionDesk;
  /** Folds of owners that audits read. */
  replays: Replays;
  personName: PersonName;
};

export type DeskInput<Id extends DeskOperationId> = z.output<DeskOperations[Id]['input']>;

export type DeskHandler<Id extends DeskOperationId> = (
  deps: DeskDeps,
  input: DeskInput<Id>,
  call: DeskCall,
) => Promise<Outcome<z.output<DeskOperations[Id]['output']>>>;

/** One handler per desk operation: a missing one does not compile. */
export type DeskHandlers = { [Id in DeskOperationId]: DeskHandler<Id> };

/** Whether the caller may act for an owner: a token that is bound to one owner may act for that owner only. */
export const mayActFor = ({ caller }: DeskCall, ownerId: string): boolean =>
  caller.ownerId === undefined ||
  caller.ownerId === ownerId ||
  testSpaceOf(caller.ownerId) === ownerId;

export const NO_OWNER = refuse('resource_not_found', 'There is no such owner.');
