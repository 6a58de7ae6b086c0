import type { Declared } from '#contracts/operation.ts';
import type { Overload } from './overload.ts';
import { requireContract } from './contract-checks.ts';
import type { Deps } from './call.ts';
import type { CallInput, Surface, VisitorCall } from '#src/shared/call.ts';
import { mappingFailures } from './failure.ts';
import type { Outcome, Refusal } from '#src/shared/outcome.ts';
import { parseFields } from './parse-input.ts';
import type { HandlersOf, RegistryOf, Signatures } from './rules.ts';

export type VisitorRequest = { surface: Surface; requestId: string };

type Parts<S extends Signatures, D> = {
  deps: D;
  registry: RegistryOf<S, Declared>;
  handlers: HandlersOf<S, { deps: D; call: VisitorCall }>;
  overload: Overload;
};

/**
 * The path of a visitor's call to its use case. A visitor has no credential, no limit of calls and no audit record: a visit
 * is an event of its own. Only overload refuses one, redirects last.
 */
export class VisitorPipeline<S extends Signatures, D extends Pick<Deps, 'clock'>> {
  readonly #parts: Parts<S, D>;

  constructor(parts: Parts<S, D>) {
    this.#parts = parts;
  }

  /** Refuses a call that would wait too long in this process. */
  admit(id: keyof S): Refusal | undefined {
    return this.#parts.overload(id === 'visitLink' ? 'redirect' : 'read');
  }

  /** Performs an admitted call. Throws on a bug of the service. */
  async perform<Id extends keyof S>(
    id: Id,
    { surface, requestId, input }: VisitorRequest & Pick<CallInput, 'input'>,
  ): Promise<Outcome<S[Id]['answer']>> {
    const { deps, registry, handlers } = this.#parts;
    const operation = registry[id];
    const parsed = parseFields<S[Id]['input']>(operation, input);
    if ('refusal' in parsed) return parsed.refusal;
    const call: VisitorCall = {
      caller: { kind: 'visitor' },
      ownerId: '',
      actor: 'visitor',
      surface,
      operation: operation.id,
      requestId,
      at: deps.clock.now(),
    };
    return mappingFailures(async () =>
      requireContract(operation, await handlers[id](deps, parsed.input, call)),
    );
  }
}
