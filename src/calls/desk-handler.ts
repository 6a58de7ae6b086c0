/** Handlers of people: of those at the desk, and of the holders of links. No interface of agents loads this file. */
import type { z } from 'zod';
import type { DeskOperationId, DeskOperations } from '#contracts/registries/desk.ts';
import type { HolderOperationId, HolderOperations } from '#contracts/registries/holders.ts';
import { testSpaceOf } from '#contracts/spaces.ts';
import type { DeskCall, HolderCall } from '#src/shared/call.ts';
import { type Outcome, refuse } from '#src/shared/outcome.ts';
import type { Deps } from './handlers.ts';

export type DeskInput<Id extends DeskOperationId> = z.output<DeskOperations[Id]['input']>;

/** A handler of an operation of the desk. `D`: what it needs. */
export type DeskHandler<Id extends DeskOperationId, D = Deps> = (
  deps: D,
  input: DeskInput<Id>,
  call: DeskCall,
) => Promise<Outcome<z.output<DeskOperations[Id]['output']>>>;

/** A handler of an operation of the holders of links. `Answer`: what its page shows. */
export type HolderHandler<Id extends HolderOperationId, Answer> = (
  deps: Deps,
  input: z.output<HolderOperations[Id]['input']>,
  call: HolderCall,
) => Promise<Outcome<Answer>>;

/** Whether the caller may act for an owner: people of promoters act for those only. */
export const mayActFor = ({ caller }: Pick<DeskCall, 'caller'>, ownerId: string): boolean =>
  caller.owners?.some((owner) => owner === ownerId || testSpaceOf(owner) === ownerId) ?? true;

/** Whether the caller acts for promoters, and not for the service. */
export const isBound = ({ caller }: Pick<DeskCall, 'caller'>): boolean =>
  caller.owners !== undefined;

/** The only promoter for whom the caller acts, which need not be named; otherwise undefined. */
export const soleOwner = ({ caller: { owners } }: Pick<DeskCall, 'caller'>): string | undefined =>
  owners?.length === 1 ? owners[0] : undefined;

export const NO_OWNER = refuse('resource_not_found', 'There is no such owner.');
