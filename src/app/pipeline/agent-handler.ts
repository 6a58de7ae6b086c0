import type { z } from 'zod';
import type { AgentOperations } from '#contracts/index.ts';
import type { AgentCall } from './call.ts';
import type { Deps } from './deps.ts';
import type { Outcome } from './outcome.ts';

export type InputOf<Id extends keyof AgentOperations> = z.output<AgentOperations[Id]['input']>;
type OutputOf<Id extends keyof AgentOperations> = z.output<AgentOperations[Id]['output']>;

export type Handler<Id extends keyof AgentOperations> = (
  deps: Deps,
  input: InputOf<Id>,
  call: AgentCall,
) => Promise<Outcome<OutputOf<Id>>>;

/** One handler per operation: a missing one does not compile. */
export type Handlers = { [Id in keyof AgentOperations]: Handler<Id> };
