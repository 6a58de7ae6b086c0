/** How the callers differ: what agents, people at the desk and the holders of links may do, and what limits them. */
import type { z } from 'zod';
import { beginningOf } from '#contracts/texts.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { Declared, ToolOperation, DeskOperation } from '#contracts/operation.ts';
import { allows, type NeededScope, type Scope } from '#contracts/scopes.ts';
import type {
  Admission,
  Arrival,
  Budget,
  Call,
  Caller,
  CallInput,
  Surface,
  AgentCall,
  AgentCaller,
  DeskCall,
  DeskCaller,
  HolderCall,
  HolderCaller,
  ClientInfo,
} from '#src/shared/call.ts';
import {
  type Outcome,
  type Refusal,
  done,
  isRecorded,
  refuse,
  scopeMissing,
} from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { DAY_MS, MINUTE_MS } from '#src/shared/time.ts';
import { reviewTokenHash } from '#src/shared/signing.ts';
import {
  fingerprintsOf,
  digestOf,
  streamOf,
  streamOfKey,
  streamOfPerson,
  streamOfSession,
  streamOfToken,
} from '#src/writing/streams.ts';
import { idemOf } from '#src/writing/idempotency.ts';
import { type Audit, type AuditedCaller, DESK, type RecordedAnswer } from './audit.ts';
import {
  type Identified,
  type Authenticator,
  refuseEnded,
  CREDENTIAL_PATTERN,
  refuseEndedSession,
  refuseRevoked,
  type CredentialState,
} from './authenticate.ts';
import type { Deps } from './handlers.ts';
import { type Parsable, type Parsed, parseFields, parseInput } from './input.ts';
import { type Concurrency, type Limiter, type Overload, spacingOf, tooMany } from './limits.ts';

/** A call before its input is parsed. */
export type Incoming<C extends Caller> = CallInput & {
  caller: C;
  surface: Surface;
  requestId: string;
  /** The page of a person, as its path. */
  page?: string | undefined;
  client?: ClientInfo | undefined;
};

/** What a handler reports for the audit record. */
export type Trail = {
  /** The first operation that it performed inside itself, which is audited in its place. */
  inner?: { id: string; outcome: Outcome<unknown> };
  /** The operation that it is about, where an earlier call performed it. */
  operation?: string;
  /** What was asked, and when. */
  question?: { input: object; at: number };
};

/** A question, and what it was answered. */
export type Answered = NonNullable<Trail['question']> & { value: unknown };

/** Rows of one owner, in one scope of the read models; without both, those of all owners. */
export type RowsRead = { owner?: string; scope?: string };

/** The types of one kind of actor: who calls, what its operations declare, and what its handlers get. */
export type ActorTypes = {
  caller: Caller;
  operation: Declared;
  call: Call;
  deps: PipelineDeps;
};

/** The parts of the pipeline that depend on the kind of actor. */
export type ActorRules<
  A extends ActorTypes,
  C extends Caller = A['caller'],
  Op extends Declared = A['operation'],
> = {
  /** Finds out who presents the credential; called at admission. */
  identify(arrival: Arrival): Identified<C>;
  /** Looks an admitted caller up again, before each operation; without it, its credential is identified again. */
  confirm?(caller: C): Identified<C>;
  /** Refuses a caller without the scope or role that the operation needs. */
  authorize(operation: Op, caller: C): Refusal | undefined;
  budgetFor(operation: Op): Budget;
  charge(caller: C, budget: Budget): Pick<Admission<C>, 'headers'> & { refusal?: Refusal };
  /** Takes what a call weighs more than others from its budget. */
  weigh?(operation: Op, caller: C, input: object): Refusal | undefined;
  /** Takes a place among the calls in progress of this caller; undefined where they are not limited. */
  occupy?(operation: Op, caller: C): ReturnType<Concurrency>;
  parse<Input extends object>(
    operation: Parsable<Input>,
    input: Record<string, unknown>,
  ): Parsed<Input>;
  /** Makes the call that the handler gets, with the idempotency key of the input. */
  callFor(incoming: Incoming<C>, about: { operation: Op; input: object; trail: Trail }): A['call'];
  /** Whose rows the operation reads, and so whose writes its answer must show; undefined if it reads none. */
  reads(operation: Op, caller: C): RowsRead | undefined;
  /** Looks the credential of a caller up again, without its expiry; undefined where an actor has none. */
  currentCredential?(operation: Op, caller: C): CredentialState;
  /** The stream that keys are claimed for before the first append; without it, handlers claim them with their records. */
  keyStream?: string;
  /** Who an audit record is about; undefined for callers that are not audited. */
  auditedCallerOf(caller: C): AuditedCaller | undefined;
  /** False if a business event records the call, or if it needs no record. */
  isAudited(operation: Op, outcome: Outcome<unknown>): boolean;
  /** What proves the answer later, where the owner wants that. */
  recordAnswer?(operation: Op, caller: C, answered: Answered): Promise<RecordedAnswer | undefined>;
  /** What the call asks for, where its audit record must have it. */
  askedIn?(operation: Op, input: Record<string, unknown>): string | undefined;
};

/** What each operation of a registry takes, as its schema leaves it, and what it answers. */
export type Signatures = { readonly [Id in string]: { input: object; answer: unknown } };

/** The signatures of handlers. */
export type SignaturesOf<H> = {
  [Id in keyof H]: H[Id] extends (
    deps: never,
    input: infer Input extends object,
    call: never,
  ) => Promise<Outcome<infer Answer>>
    ? { input: Input; answer: Answer }
    : never;
};

export type RegistryOf<S extends Signatures, Op extends Declared> = {
  readonly [Id in keyof S]: Op & { input: z.ZodType<S[Id]['input']> };
};

/** One handler for each operation: a missing one does not compile. */
export type HandlersOf<
  S extends Signatures,
  A extends Pick<ActorTypes, 'call'> & { deps: unknown },
> = {
  readonly [Id in keyof S]: (
    deps: A['deps'],
    input: S[Id]['input'],
    call: A['call'],
  ) => Promise<Outcome<S[Id]['answer']>>;
};

/** What the pipeline itself uses; handlers and rules may need more. */
type PipelineDeps = Pick<
  Deps,
  'log' | 'ids' | 'following' | 'metrics' | 'confirmation' | 'freshness' | 'acknowledged'
>;

export type PipelineParts<S extends Signatures, A extends ActorTypes> = {
  deps: A['deps'];
  registry: RegistryOf<S, A['operation']>;
  handlers: HandlersOf<S, A>;
  rules: ActorRules<A>;
  audit: Audit;
  /** By address: callers without a credential, and refused credentials. */
  limiters: Record<'unauthenticated' | 'failed', Limiter>;
  overload: Overload;
};

type AgentLimiters = Record<'read' | 'write' | 'outreach', Limiter>;
/** Limits of the calls in progress, by kind of operation. */
type AtOnce = Record<Declared['kind'], Concurrency>;

type AgentOperation = Pick<ToolOperation, 'openWorld' | 'recordsAnswers' | 'weighs'> &
  Declared & { scope: NeededScope };

/** `D`: what the handlers of its registry need. */
export type AgentActor<D extends Deps = Deps> = {
  caller: AgentCaller;
  operation: AgentOperation;
  call: AgentCall;
  deps: D;
};

/** Budget of an operation; outreach has one of its own. */
export const agentBudget = ({
  kind,
  openWorld,
}: Pick<AgentOperation, 'kind' | 'openWorld'>): keyof AgentLimiters => {
  if (kind === 'query') return 'read';
  return openWorld ? 'outreach' : 'write';
};

const NOTICE_MS = LIMITS.KEY_NOTICE_DAYS * DAY_MS;

/** Takes calls from budgets, with the RateLimit and RateLimit-Policy headers. */
const rateLimits = <Name extends string>(limiters: Record<Name, Limiter>) => {
  const policies = new Map<string, string>();
  for (const [name, { rate }] of Object.entries<Limiter>(limiters))
    policies.set(name, `"${name}";q=${rate.count};w=${spacingOf(rate).periodMs / 1_000}`);
  return (key: string, budget: Name) => {
    const limiter = limiters[budget];
    const verdict = limiter.take(key);
    const headers: Record<string, string> = {
      'ratelimit-policy': policies.get(budget) ?? '',
      ratelimit: `"${budget}";r=${verdict.remaining};t=${verdict.windowS}`,
    };
    return verdict.allowed ? { headers } : { headers, refusal: tooMany(verdict, limiter) };
  };
};

/** The members of an agent's call that do not depend on its input. */
export const agentCall = (
  deps: Pick<Deps, 'clock'>,
  {
    caller,
    surface,
    requestId,
    client,
  }: Pick<Incoming<AgentCaller>, 'caller' | 'surface' | 'requestId' | 'client'>,
  { id, scope }: { id: string; scope: NeededScope },
): Call & { caller: AgentCaller } => {
  const used = scopeUsed(scope, caller);
  return {
    caller,
    ownerId: caller.ownerId,
    actor: caller.agentId,
    keyId: caller.keyId,
    ...present({ client }),
    surface,
    operation: id,
    ...(used !== undefined && { scope: used }),
    requestId,
    at: deps.clock.now(),
  };
};

const refuseScope = ({ id, scope }: AgentOperation, scopes: ReadonlySet<string>) =>
  allows(scope, scopes) ? undefined : scopeMissing(id, scope, { scopes });

/** What this process knows of the key and the agent of a caller. */
const currentKey = (
  { credentials }: Pick<Deps, 'credentials'>,
  operation: AgentOperation,
  { keyId, agentId }: AgentCaller,
): CredentialState => {
  const key = credentials.key(keyId);
  const agent = credentials.agent(agentId);
  if (!key || !agent) return { refusal: undefined, streams: [] };
  return {
    refusal: refuseEnded(key, agent) ?? refuseScope(operation, new Set(agent.granted)),
    streams: [
      { stream: streamOfKey(key.owner, keyId), revision: key.version },
      { stream: streamOf(agent.owner, 'agent', agentId), revision: agent.version },
    ],
  };
};

/** Takes what a call weighs more than others from its budget. */
const weigher =
  (take: ReturnType<typeof rateLimits<keyof AgentLimiters>>) =>
  (operation: AgentOperation, { keyId }: AgentCaller, input: object): Refusal | undefined => {
    const weight = operation.weighs?.(input as Record<string, unknown>) ?? 1;
    for (let more = 1; more < weight; more += 1) {
      const { refusal } = take(keyId, agentBudget(operation));
      if (refusal) return refusal;
    }
    return undefined;
  };

type AgentParts = AgentLimiters & {
  atOnce: AtOnce;
  recordAnswer: NonNullable<ActorRules<AgentActor>['recordAnswer']>;
};

/** Rules for agents: API keys, scopes, budgets by key, idempotency keys; calls that write no event are audited. */
export const agentRules = <D extends Deps>(
  deps: D,
  authenticator: Authenticator,
  { atOnce, recordAnswer, ...limiters }: AgentParts,
): ActorRules<AgentActor<D>> => {
  const take = rateLimits(limiters);

  /** The end of a key that is rotated or expires soon. Deprecation and Sunset are about operations. */
  const endOf = ({ keyId }: AgentCaller): Record<string, string> => {
    const key = deps.credentials.key(keyId);
    if (!key) return {};
    const ends = key.status === 'rotating' || key.expires_at - deps.clock.now() < NOTICE_MS;
    return ends ? { 'key-expires': new Date(key.expires_at).toUTCString() } : {};
  };

  return {
    identify({ credential }) {
      if (credential === undefined)
        return refuse('credential_missing', 'Send Authorization: Bearer <API_KEY>.');
      return authenticator.agent(credential);
    },
    confirm: ({ keyId }) => authenticator.agentOfKey(keyId),
    authorize: (operation, { scopes }) => refuseScope(operation, scopes),
    budgetFor: agentBudget,
    charge(caller, budget) {
      const taken = take(caller.keyId, budget as keyof AgentLimiters);
      return taken.refusal ? taken : { headers: { ...taken.headers, ...endOf(caller) } };
    },
    weigh: weigher(take),
    occupy: ({ kind }, { keyId }) => atOnce[kind](keyId),
    currentCredential: (operation, caller) => currentKey(deps, operation, caller),
    parse: parseInput,
    callFor(incoming, { operation, input }): AgentCall {
      const { task, file } = incoming;
      const base = {
        ...agentCall(deps, incoming, operation),
        ...(task && { task }),
        ...(file && { file: true as const }),
      };
      if (!('idempotency_key' in input)) return base;
      // A check of a request is no other request.
      const { idempotency_key, check_only, ...fields } = input as {
        idempotency_key: string;
        check_only?: boolean;
      };
      return {
        ...base,
        idem: idemOf(incoming.caller, operation.id, idempotency_key),
        fingerprints: fingerprintsOf(deps.secrets, operation.id, fields),
      };
    },
    reads: ({ kind }, { ownerId }) =>
      kind === 'query' ? { owner: ownerId, scope: ownerId } : undefined,
    auditedCallerOf: ({ ownerId, agentId, keyId }) => ({ kind: 'agent', ownerId, agentId, keyId }),
    recordAnswer,
    isAudited: (_operation, outcome) => !isRecorded(outcome),
  };
};

const scopeUsed = (needed: NeededScope, { scopes }: AgentCaller): Scope | undefined => {
  const alternatives = typeof needed === 'string' ? [needed] : (needed ?? []);
  return alternatives.find((name) => scopes.has(name));
};

/**
 * Stands for a process that holds the files of the log itself. It needs no credential, and its reads are not
 * audited: a command that reads a data directory must not write to it.
 */
export const SYSTEM_TOKEN = 'system';

/** Bounds an audit record: a refused input can be long. */
const ASKED_CHARS_MAX = 1_000;
const CREDENTIALS = new RegExp(CREDENTIAL_PATTERN, 'g');

/** Hash of an idempotency key of the desk, which belongs to one person or token and one operation. */
export const deskIdem = (
  { id }: Pick<DeskCaller, 'id'>,
  operation: string,
  idempotencyKey: string,
): string => digestOf('desk', id, operation, idempotencyKey);

/** The input of a call whose audit record must have it, without credentials. */
const askedIn = (
  { auditsInput = false }: DeskOperation,
  input: Record<string, unknown>,
): string | undefined =>
  auditsInput
    ? beginningOf(JSON.stringify(input).replaceAll(CREDENTIALS, '[credential]'), ASKED_CHARS_MAX)
    : undefined;

/** `D`: what the handlers of its registry need. */
export type DeskActor<D extends Deps = Deps> = {
  caller: DeskCaller;
  operation: DeskOperation;
  call: DeskCall;
  deps: D;
};

const FRESH_MS = LIMITS.FRESH_SIGN_IN_MINUTES * MINUTE_MS;
const SIGN_IN_AGAIN = refuse(
  'fresh_sign_in_needed',
  `This needs a sign-in of the last ${LIMITS.FRESH_SIGN_IN_MINUTES} minutes.`,
);

/** What this process knows of the session, or of the token, of a person. */
const currentPerson = (
  { credentials }: Pick<Deps, 'credentials'>,
  { id, session }: DeskCaller,
): CredentialState => {
  const token = credentials.deskToken(id);
  if (token)
    return {
      refusal: refuseRevoked(token),
      streams: [{ stream: streamOfToken(id), revision: token.status === 'active' ? 0 : 1 }],
    };
  const person = credentials.person(id);
  const used = session && credentials.session(session.id);
  if (!person || !used) return { refusal: undefined, streams: [] };
  return {
    refusal: refuseEndedSession(used, person),
    streams: [
      { stream: streamOfPerson(id), revision: person.version },
      { stream: streamOfSession(used.session_id), revision: used.version },
    ],
  };
};

/** Rules for the desk: desk tokens, roles, budgets by token, idempotency keys; refusals and personal reads are audited. */
export const deskRules = <D extends Deps>(
  deps: D,
  authenticator: Authenticator,
  { atOnce, ...limiters }: Pick<AgentLimiters, 'read' | 'write'> & { atOnce: AtOnce },
): ActorRules<DeskActor<D>> => {
  const take = rateLimits(limiters);
  return {
    identify({ credential, surface }) {
      if (credential === undefined)
        return refuse('credential_missing', 'Send Authorization: Bearer <DESK_TOKEN>.');
      return authenticator.desk(credential, surface === 'portal' ? 'browser' : 'command_line');
    },
    authorize({ id, roles, isSensitive = false, isOnPage = false }, { roles: held, session }) {
      if (!roles.some((role) => held.has(role)))
        return refuse('role_missing', `${id} needs one of: ${roles.join(', ')}.`);
      // A token that could do it would live on in what it did after it has ended.
      if (isOnPage && session?.usedIn !== 'browser')
        return refuse('role_missing', `${id} needs a person who is signed in, on a page.`);
      const isStale =
        isSensitive &&
        session?.usedIn === 'browser' &&
        deps.clock.now() >= session.startedAt + FRESH_MS;
      return isStale ? SIGN_IN_AGAIN : undefined;
    },
    budgetFor: ({ kind }) => (kind === 'query' ? 'read' : 'write'),
    charge: ({ id }, budget) => take(id, budget === 'read' ? 'read' : 'write'),
    occupy: ({ kind }, { id }) => atOnce[kind](id),
    currentCredential: (_operation, caller) => currentPerson(deps, caller),
    parse: parseInput,
    callFor({ caller, surface, requestId, page }, { operation: { id }, input }): DeskCall {
      const base: DeskCall = {
        caller,
        ownerId: DESK,
        actor: `desk:${caller.id}`,
        ...present({ session: caller.session?.id, page }),
        surface,
        operation: id,
        requestId,
        at: deps.clock.now(),
      };
      if (!('idempotency_key' in input)) return base;
      const { idempotency_key, ...fields } = input as { idempotency_key: string };
      const idem = deskIdem(caller, id, idempotency_key);
      return { ...base, idem, fingerprints: fingerprintsOf(deps.secrets, id, fields) };
    },
    reads: ({ kind }) => (kind === 'query' ? {} : undefined),
    // A key of the desk is claimed for all owners together.
    keyStream: DESK,
    auditedCallerOf: ({ id, session }) =>
      id === SYSTEM_TOKEN ? undefined : { kind: 'desk', id, session: session?.id },
    isAudited: ({ readsPersonalData = false, auditsInput = false }, { ok }) =>
      !ok || readsPersonalData || auditsInput,
    askedIn,
  };
};

const noHeaders = { headers: {} };

export type HolderActor = {
  caller: HolderCaller;
  operation: Declared;
  call: HolderCall;
  deps: Deps;
};

/** Rules for holders of a link: the link is the credential; acts are limited and refusals audited by link. */
export const holderRules = (deps: Deps, acts: Limiter): ActorRules<HolderActor> => ({
  identify: ({ credential = '' }) => done({ kind: 'holder', token: credential }),
  authorize: () => undefined,
  budgetFor: ({ kind }) => (kind === 'query' ? 'read' : 'holder'),
  charge({ token }, budget) {
    if (budget === 'read') return noHeaders;
    const verdict = acts.take(reviewTokenHash(token));
    return verdict.allowed ? noHeaders : { ...noHeaders, refusal: tooMany(verdict, acts) };
  },
  parse: parseFields,
  // Without an owner: the operation finds whose records it is about.
  callFor: ({ caller, surface, requestId }, { operation }): HolderCall => ({
    caller,
    ownerId: '',
    // Stored in events for every holder of a link; only applicants have another name there.
    actor: 'buyer',
    surface,
    operation: operation.id,
    requestId,
    at: deps.clock.now(),
  }),
  reads: ({ kind }) => (kind === 'query' ? {} : undefined),
  auditedCallerOf: ({ token }) => ({ kind: 'holder', tokenHash: reviewTokenHash(token) }),
  isAudited: ({ kind }, { ok }) => !ok && kind === 'command',
});
