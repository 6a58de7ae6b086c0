import type { z } from 'zod';
import type { DeskOperationId, DeskOperations } from '#contracts/desk/index.ts';
import type { DeskCall } from '../pipeline/call.ts';
import type { DeskDeps, DeskInput } from '../pipeline/desk-handler.ts';
import type { Outcome } from '../pipeline/outcome.ts';
import type { OpeningVault } from '../privacy/sealed-texts.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import type { OwnerLog } from './moments.ts';

/** What audits need that an exported file answers, too: a log that is read by owner, and the read models at its end. */
export type OwnerAuditDeps = Pick<
  DeskDeps,
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
