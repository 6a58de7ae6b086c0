/** Where the story is played: everybody acts through the application's own doors. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import type { DeskOperationId, DeskOperations } from '#contracts/desk/index.ts';
import { deskOperations } from '#contracts/desk/index.ts';
import { agentOperations, type OperationId, outreachOperations } from '#contracts/index.ts';
import { authenticator, type Authenticator } from '#src/app/pipeline/authenticate.ts';
import type { Outcome } from '#src/app/pipeline/outcome.ts';
import type { Service } from '#src/main.ts';

type DeskAsked<Id extends DeskOperationId> = Omit<
  z.input<DeskOperations[Id]['input']>,
  'idempotency_key'
>;
type DeskAnswer<Id extends DeskOperationId> = z.output<DeskOperations[Id]['output']>;
type Asked<Id extends OperationId> = Omit<
  z.input<(typeof agentOperations)[Id]['input']>,
  'idempotency_key'
>;
type Answer<Id extends OperationId> = z.output<(typeof agentOperations)[Id]['output']>;

export type Stage = {
  service: Service;
  /** A credential, by the name that the story has for who holds it. */
  credentials: Map<string, string>;
  requestId(): string;
  desk<Id extends DeskOperationId>(
    who: string,
    id: Id,
    asked: DeskAsked<Id>,
  ): Promise<DeskAnswer<Id>>;
  agent<Id extends OperationId>(who: string, id: Id, asked: Asked<Id>): Promise<Answer<Id>>;
  /** An agent tries what it may not. */
  turnedAway<Id extends OperationId>(who: string, id: Id, asked: Asked<Id>): Promise<void>;
};

/** The story holds no refusal that it does not speak of: one is a bug. */
export const granted = <Value>(outcome: Outcome<Value>, what: string): Value => {
  if (outcome.ok) return outcome.value;
  const errors = JSON.stringify(outcome.errors ?? []);
  throw new Error(`demo story: ${what} was refused (${outcome.code}): ${outcome.detail} ${errors}`);
};

/** Who holds the token of the data directory. */
export const ROOT = 'root';

export const openStage = (service: Service): Stage => {
  const { deps, app, config } = service;
  const root = readFileSync(join(config.dataDirectory, 'desk.token'), 'utf8').trim();
  const credentials = new Map([[ROOT, root]]);
  const auth: Authenticator = authenticator(deps);
  const run = deps.ids.uuid();
  let acts = 0;
  const keyed = ({ kind }: { kind: 'query' | 'command' }, asked: object) => {
    if (kind === 'query') return { ...asked };
    acts += 1;
    return { idempotency_key: `demo:${run}:${acts}`, ...asked };
  };
  const credentialOf = (who: string): string => {
    const credential = credentials.get(who);
    if (credential === undefined) throw new Error(`demo story: ${who} holds no credential yet`);
    return credential;
  };
  const ask = (who: string, id: OperationId, asked: object): Promise<Outcome<unknown>> =>
    app.agents.performAs(id, {
      caller: granted(auth.agent(credentialOf(who)), `the key of ${who}`),
      surface: id in outreachOperations ? 'mcp' : 'rest',
      requestId: deps.ids.uuid(),
      input: keyed(agentOperations[id], asked),
    });
  return {
    service,
    credentials,
    requestId: () => deps.ids.uuid(),
    async desk(who, id, asked) {
      const caller = granted(auth.desk(credentialOf(who)), `the token of ${who}`);
      const input = keyed(deskOperations[id], asked);
      const incoming = { caller, surface: 'desk' as const, requestId: deps.ids.uuid(), input };
      // The registry pairs each answer with its operation; TypeScript cannot follow a key across it.
      const outcome = (await app.desk.performAs(id, incoming)) as Outcome<unknown>;
      return granted(outcome, id) as never;
    },
    async agent(who, id, asked) {
      return granted(await ask(who, id, asked), `${id} by ${who}`) as never;
    },
    async turnedAway(who, id, asked) {
      const outcome = await ask(who, id, asked);
      if (outcome.ok) throw new Error(`demo story: ${id} by ${who} went through`);
    },
  };
};
