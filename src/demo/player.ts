/** Performs the acts of the story through the pipelines of the application, as their actors would. */
import { LIMITS } from '#contracts/limits.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { holderOperations, type HolderOperationId } from '#contracts/registries/holders.ts';
import { type DeskOperationId, deskOperations } from '#contracts/registries/desk.ts';
import { ATTRIBUTION_PARAMETER } from '#contracts/links/attribution-token.ts';
import { type OperationId, outreachOperations } from '#contracts/registries/agents.ts';
import { visitorOperations, type VisitorOperations } from '#contracts/registries/visitors.ts';
import { isRecord } from '#src/shared/json.ts';
import { confirmationTokenOf, quotationTokenOf } from '#src/shared/signing.ts';
import { authenticator, type Authenticator } from '#src/calls/authenticate.ts';
import { mappingFailures, askCurrent, requireCurrent } from '#src/calls/failure.ts';
import { done, type Outcome } from '#src/shared/outcome.ts';
import { DAY_MS, iso } from '#src/shared/time.ts';
import type { Service } from '#src/main.ts';
import type { CodeRow } from '#src/ports/rows.ts';
import {
  type Act,
  BUYER_OF,
  MAILBOX_OF,
  type StoryAnswer,
  type StoryInput,
  type StoryOperationId,
  storyOperations,
  APPROVER,
  ROOT,
  VISITOR,
} from './cast.ts';
import type { PlannedVisit } from './visits.ts';

type Answer = Record<string, unknown>;

const STORE_PROBLEMS: ReadonlySet<string> = new Set([
  'read_model_rebuilding',
  'storage_unavailable',
]);
const ATTEMPTS_MAX = 30;
const RETRY_MS = 1_000;

const IN_DAYS = /\{in ([\d.]+) days\}/g;
const REFERENCE = /\{([^{}.]+)\.(\w+)\}/g;

/** Returns the value of a success. A refusal that the story does not expect is a bug. */
const requireSuccess = <Value>(outcome: Outcome<Value>, what: string): Value => {
  if (outcome.ok) return outcome.value;
  const errors = JSON.stringify(outcome.errors ?? []);
  throw new Error(`demo story: ${what} was refused (${outcome.code}): ${outcome.detail} ${errors}`);
};

/** What acts refer to besides the members of an answer: a visit's token, the id of a buyer's list, and a quotation. */
const alsoNamed = ({ target, handoffId, quotation }: Answer) => ({
  ...(isRecord(quotation) && { hash: quotation['hash'], number: quotation['number'] }),
  ...(typeof target === 'string' && {
    attribution: new URL(target).searchParams.get(ATTRIBUTION_PARAMETER),
  }),
  ...(handoffId !== undefined && { id: handoffId }),
});

/**
 * Repeats a call while a store cannot answer: an error would end the service and leave half a story, which cannot be
 * continued. Each call of the story has its key, or can be repeated without one.
 */
const withRetries = async <Value>(call: () => Promise<Outcome<Value>>): Promise<Outcome<Value>> => {
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await call();
    if (outcome.ok || attempt === ATTEMPTS_MAX || !STORE_PROBLEMS.has(outcome.code)) return outcome;
    await pause(RETRY_MS);
  }
};

export class Player {
  readonly #service: Service;
  readonly #authenticator: Authenticator;
  readonly #run: string;
  #acts = 0;
  /** By the names of the story. `previous_id` is the id of an earlier answer of that name. */
  readonly #answers = new Map<string, Answer>();
  readonly #codes = new Map<string, CodeRow>();

  constructor(service: Service) {
    this.#service = service;
    this.#authenticator = authenticator(service.deps);
    this.#run = service.deps.ids.uuid();
    const file = join(service.config.dataDirectory, 'desk.token');
    this.#answers.set(ROOT, { token: readFileSync(file, 'utf8').trim() });
    this.#answers.set(VISITOR, { token: '' });
  }

  answer(name: string): Answer {
    const answer = this.#answers.get(name);
    if (!answer) throw new Error(`demo story: an act refers to ${name} before it exists`);
    return answer;
  }

  async play({ by, operation, input, as, isRefused }: Act): Promise<void> {
    const outcome = await this.#call(by, operation, this.#resolve(input) as object);
    if (isRefused) {
      if (outcome.ok) throw new Error(`demo story: ${operation} by ${by} was not refused`);
      return;
    }
    const answer = await this.#approve(requireSuccess(outcome, `${operation} by ${by}`) as Answer);
    if (as === undefined) return;
    this.#answers.set(as, {
      ...answer,
      ...alsoNamed(answer),
      previous_id: this.#answers.get(as)?.['id'],
    });
    if (operation !== 'createLink') return;
    const { deps } = this.#service;
    const code = String(answer['code']);
    const read = async () => {
      await requireCurrent(deps);
      return done(await deps.readModels.get<CodeRow>('codes', code, ''));
    };
    const row = requireSuccess(await withRetries(() => mappingFailures(read)), `the code of ${as}`);
    if (!row) throw new Error(`demo story: no row has the code of ${as}`);
    this.#codes.set(as, row);
  }

  /** Approves the move that the answer says was only proposed; returns the answer that holds then. */
  async #approve(answer: Answer): Promise<Answer> {
    const { id, owner_id, proposed } = answer;
    if (proposed === undefined) return answer;
    const { number: proposal } = proposed as { number: number };
    const of = { owner_id: String(owner_id), proposal };
    return String(id).startsWith('led_')
      ? this.perform(APPROVER, 'approveLeadMove', { lead_id: String(id), ...of })
      : this.perform(APPROVER, 'approveRfqMove', { handoff_id: String(id), ...of });
  }

  async perform<Id extends StoryOperationId>(
    by: string,
    operation: Id,
    input: StoryInput<Id>,
  ): Promise<StoryAnswer<Id>> {
    // The registry pairs each answer with its operation; TypeScript cannot follow a key across it.
    return requireSuccess(await this.#call(by, operation, input), operation) as StoryAnswer<Id>;
  }

  /** Records a visit at the current time of the clock. Resolves when it is durable. */
  async visit({ link, visit }: PlannedVisit): Promise<void> {
    const { ids, visits } = this.#service.deps;
    const code = this.#codes.get(link);
    if (!code) throw new Error(`demo story: a visitor follows ${link} before it exists`);
    const visited = { ...code, window_days: LIMITS.ATTRIBUTION_DAYS };
    await visits.record(visited, visit, ids.uuid());
  }

  #call(by: string, id: StoryOperationId, fields: object): Promise<Outcome<unknown>> {
    const requestId = this.#service.deps.ids.uuid();
    const input = this.#withKey(id, fields);
    return withRetries(() => this.#callOnce(by, id, { requestId, input }));
  }

  async #callOnce(
    by: string,
    id: StoryOperationId,
    incoming: { requestId: string; input: Answer },
  ): Promise<Outcome<unknown>> {
    const { app, deps } = this.#service;
    if (id in visitorOperations)
      return app.visitors.perform(id as keyof VisitorOperations, {
        ...incoming,
        surface: 'portal',
      });
    const credential = this.#credentialOf(by);
    if (id in holderOperations)
      return app.holders.performAs(id as HolderOperationId, {
        ...incoming,
        caller: { kind: 'holder', token: credential },
        surface: 'portal',
      });
    if (id in deskOperations) {
      const found = await askCurrent(deps.freshness, () => this.#authenticator.desk(credential));
      if (!found.ok) return found;
      return app.desk.performAs(id as DeskOperationId, {
        ...incoming,
        caller: found.value,
        surface: 'desk',
      });
    }
    const found = await askCurrent(deps.freshness, () => this.#authenticator.agent(credential));
    if (!found.ok) return found;
    return app.agents.performAs(id as OperationId, {
      ...incoming,
      caller: found.value,
      surface: id in outreachOperations ? 'mcp' : 'rest',
    });
  }

  #withKey(id: StoryOperationId, fields: object): Answer {
    if (storyOperations[id].idempotency !== 'key') return { ...fields };
    this.#acts += 1;
    return { idempotency_key: `demo:${this.#run}:${this.#acts}`, ...fields };
  }

  /** The secret in the answer that has the name of the actor. */
  #credentialOf(by: string): string {
    if (by.startsWith(MAILBOX_OF)) {
      const { id } = this.answer(by.slice(MAILBOX_OF.length));
      // The story sends each list once.
      return confirmationTokenOf(this.#service.deps.secrets, { handoffId: String(id), number: 1 });
    }
    if (by.startsWith(BUYER_OF)) {
      const { id, number } = this.answer(by.slice(BUYER_OF.length));
      return quotationTokenOf(this.#service.deps.secrets, {
        handoffId: String(id),
        number: Number(number),
      });
    }
    const { token, api_key, review_url } = this.answer(by) as Record<string, string | undefined>;
    return token ?? api_key ?? review_url?.split('/').at(-1) ?? '';
  }

  #resolve(value: unknown): unknown {
    if (typeof value === 'string')
      return value
        .replaceAll(REFERENCE, (_all, name: string, field: string) =>
          String(this.answer(name)[field]),
        )
        .replaceAll('{now}', iso(this.#service.deps.clock.now()))
        .replaceAll(IN_DAYS, (_all, days: string) =>
          iso(this.#service.deps.clock.now() + Math.round(Number(days) * DAY_MS)),
        );
    if (Array.isArray(value)) return value.map((item) => this.#resolve(item));
    if (typeof value !== 'object' || value === null || value instanceof Map) return value;
    return Object.fromEntries(
      Object.entries(value).map(([field, inner]) => [field, this.#resolve(inner)]),
    );
  }
}
