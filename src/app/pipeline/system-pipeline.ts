import type { z } from 'zod';
import type { Declared } from '#contracts/operation.ts';
import { systemOperations, type SystemOperations } from '#contracts/system/index.ts';
import { limiter } from '../limits/limiter.ts';
import type { SystemCall, SystemCaller } from './call.ts';
import type { Deps } from './deps.ts';
import { done, type Outcome } from './outcome.ts';
import { parseFields } from './parse-input.ts';
import { Pipeline } from './pipeline.ts';
import type { ActorRules, PipelineDeps } from './rules.ts';

type SystemDeps = PipelineDeps & Pick<Deps, 'clock' | 'ids'>;

/** The handlers of a process, which performs only some of the operations of the service. */
type SystemHandlers<D> = {
  [Id in keyof SystemOperations]?: (
    deps: D,
    input: z.output<SystemOperations[Id]['input']>,
    call: SystemCall,
  ) => Promise<Outcome<z.output<SystemOperations[Id]['output']>>>;
};

/** Rules for the service itself: no credential, no limit, no audit record. Its events record what it did. */
export const systemRules = <D extends SystemDeps>({
  clock,
}: Pick<D, 'clock'>): ActorRules<SystemCaller, Declared, D> => ({
  identify: () => done({ kind: 'system', ownerId: '', signal: new AbortController().signal }),
  authorize: () => undefined,
  budgetFor: () => 'write',
  charge: () => ({ headers: {} }),
  parse: parseFields,
  callFor: ({ caller, surface, requestId }, { operation }): SystemCall => ({
    caller,
    ownerId: caller.ownerId,
    actor: 'system',
    surface,
    operation: operation.id,
    requestId,
    at: clock.now(),
  }),
  readModelScope: () => undefined,
  auditedCallerOf: () => undefined,
  isAudited: () => false,
});

/** Makes the function by which a process performs operations of the service. */
export const performAsSystem = <D extends SystemDeps, H extends SystemHandlers<D>>(
  deps: D,
  handlers: H,
) => {
  const { clock, ids } = deps;
  const none = limiter(0, clock.monotonic);
  const pipeline = new Pipeline({
    deps,
    registry: systemOperations,
    handlers,
    rules: systemRules<D>(deps),
    // The rules identify every caller and audit none.
    audit: { record: () => {}, flush: async () => {} },
    limiters: { unauthenticated: none, failed: none },
    overload: () => undefined,
  });
  return <Id extends keyof H & keyof SystemOperations>(
    id: Id,
    { input, ...caller }: Omit<SystemCaller, 'kind'> & { input: Record<string, unknown> },
  ) =>
    pipeline.performAs(id, {
      caller: { kind: 'system', ...caller },
      surface: 'system',
      requestId: ids.uuid(),
      input,
    });
};
