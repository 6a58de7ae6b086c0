/** The application as its interfaces see it: a pipeline for each kind of actor, and a few named queries. */
import { holderOperations } from '#contracts/registries/holders.ts';
import { deskOperations } from '#contracts/registries/desk.ts';
import { agentOperations, recordOperations } from '#contracts/registries/agents.ts';
import { LIMITS, type Rates } from '#contracts/limits.ts';
import { taskOperations } from '#contracts/tasks/operations.ts';
import { visitorOperations } from '#contracts/registries/visitors.ts';
import type { SharedCount, Waits } from '#src/ports/system.ts';
import {
  viewCategory,
  viewList,
  viewProduct,
  viewSearch,
  type VisitorDeps,
  type VisitorSignatures,
  locateLink,
  visitLink,
} from '#src/links/visitors.ts';
import {
  type HolderHandlers,
  type HolderLimits,
  holderHandlers,
  type HolderPipeline,
} from './holders.ts';
import { type AgentDeps, agentHandlers, type AgentPipeline, type Handlers } from './agents.ts';
import {
  type AgentActor,
  agentRules,
  type DeskActor,
  deskRules,
  type HolderActor,
  holderRules,
  type SignaturesOf,
} from '#src/calls/rules.ts';
import type { PerformanceDeps } from '#src/performance/get-performance.ts';
import { recordAnswer } from '#src/owners/recorded-answers.ts';
import { authenticator } from '#src/calls/authenticate.ts';
import { consistencyToken, Pipeline, VisitorPipeline } from '#src/calls/pipeline.ts';
import { type DeskDeps, type DeskHandlers, deskHandlers } from './desk.ts';
import {
  concurrency,
  limiter,
  type Limiter,
  networkOf,
  overload,
  SharedLimiter,
  tooMany,
} from '#src/calls/limits.ts';
import { type NotedUse, noteUse } from '#src/people/sessions.ts';
import type { DeskCaller } from '#src/shared/call.ts';
import type { House } from '#src/shared/house.ts';
import type { Outcome, Refusal } from '#src/shared/outcome.ts';
import { type RecordHandlers, recordHandlers, type RecordPipeline } from './resources.ts';
import {
  followTask,
  type TaskFollowing,
  taskWatch,
  type TaskWatch,
} from '#src/tasks/follow-task.ts';
import { keySet, signDocument } from '#src/shared/signing.ts';
import type { TaskActor, TaskHandlers, TaskPipeline } from '#src/tasks/read-task.ts';
import { taskRules } from '#src/tasks/send-message.ts';
import { taskHandlers } from './tasks.ts';
import type { TaskView } from '#src/tasks/task-view.ts';

export type DeskPipeline = Pipeline<SignaturesOf<DeskHandlers>, DeskActor<DeskDeps>>;

export type AppDeps = DeskDeps &
  VisitorDeps & {
    /** Where other processes serve the same clients: what they take is counted there. */
    counts?: SharedCount;
    waits: Waits;
  };

/** What every interface may use. */
type Common = {
  /** The public origin, without a slash at the end; never taken from a request. */
  origin(): string;
  /** Who sells; undefined if no setting says it. */
  house: House | undefined;
  /** Token of the position that an answer reflects: of its own write, or of the read models now. */
  tokenFor(outcome?: Outcome<unknown>): string;
};

/** The application as the interfaces of agents see it: nothing in it acts for a buyer or at the desk. */
export type AgentApp = Common & {
  agents: AgentPipeline;
  /** What agents read as resources of MCP. */
  records: RecordPipeline;
  tasks: TaskPipeline;
  limits: Rates;
  /** Epoch milliseconds. */
  now(): number;
  /** Signs a document as strangers can check it with `signingKeys`; `keysUrl` is where those are served. */
  sign(document: object, keysUrl: string): object;
  signingKeys(): object;
  /** Watches the log for changes of tasks. */
  watchTasks(options: Parameters<typeof taskWatch>[1]): TaskWatch;
  /** A task as each of its events leaves it, until it ends. */
  followTask(watch: TaskWatch, following: TaskFollowing): AsyncGenerator<TaskView>;
};

export type DeskApp = Common & {
  desk: DeskPipeline;
  /** Records that a person uses a session, and where. */
  noteUse(caller: DeskCaller, client: NotedUse): Promise<void>;
  /** Counts a code that a person typed, against the person and the network; the refusal beyond the limit. */
  takeCode(caller: DeskCaller, address: string): Refusal | undefined;
  /** Issuer of the provider with which people can sign in; undefined if there is none. */
  openIdIssuer: string | undefined;
};

export type App = AgentApp &
  DeskApp & { holders: HolderPipeline; visitors: VisitorPipeline<VisitorSignatures, VisitorDeps> };

/** Makes a limit of calls a minute, or another period, shared with other processes where they serve the same clients. */
const limiterMaker =
  ({ clock, counts: shared }: AppDeps) =>
  (name: string, count: number, per: Limiter['rate']['per'] = 'minute'): Limiter => {
    const rate = { count, per };
    return shared
      ? new SharedLimiter(rate, clock.monotonic, { count: shared, name })
      : limiter(rate, clock.monotonic);
  };

/** The rules of the actors with a credential or a link, with their limits. */
const limitedRules = (deps: AppDeps, limited: ReturnType<typeof limiterMaker>) => {
  const { limits, clock } = deps;
  const atOnce = {
    query: concurrency(limits.readsAtOnce, clock.monotonic),
    command: concurrency(limits.writesAtOnce, clock.monotonic),
  };
  const accounts = authenticator(deps);
  return {
    agent: agentRules(deps, accounts, {
      read: limited('read', limits.readsPerMinute),
      write: limited('write', limits.writesPerMinute),
      outreach: limited('outreach', limits.outreachPerMinute),
      atOnce,
      recordAnswer: async ({ recordsAnswers }, { ownerId }, answered) =>
        recordsAnswers ? recordAnswer(deps, ownerId, answered) : undefined,
    }),
    desk: deskRules(deps, accounts, {
      read: limited('desk-read', LIMITS.DESK_READS_PER_MINUTE),
      write: limited('desk-write', LIMITS.DESK_WRITES_PER_MINUTE),
      atOnce,
    }),
    holder: holderRules(deps, limited('buyer', LIMITS.BUYER_ACTS_PER_MINUTE)),
  };
};

const codeTakerOf =
  (limit: Limiter): DeskApp['takeCode'] =>
  ({ id }, address) => {
    const verdicts = [id, networkOf(address)].map((key) => limit.take(key));
    const refused = verdicts.find(({ allowed }) => !allowed);
    return refused && tooMany(refused, limit);
  };

/** Each way to sign in: of one network or person; and links to one mailbox. */
const signInLimiters = (limited: ReturnType<typeof limiterMaker>): HolderLimits['signIns'] => ({
  networks: (way) => limited(`sign-ins-${way}`, LIMITS.SIGN_INS_PER_NETWORK_PER_HOUR, 'hour'),
  mailboxes: limited('sign-in-links', LIMITS.SIGN_IN_LINKS_PER_HOUR, 'hour'),
});

/** The limits of what anybody can ask for, by network, mailbox or link. */
const holderLimits = (
  { limits, clock }: AppDeps,
  limited: ReturnType<typeof limiterMaker>,
  signIns: HolderLimits['signIns'],
): HolderLimits => ({
  lists: limited('lists', LIMITS.LISTS_PER_MINUTE),
  rfqs: limiter({ count: limits.rfqsPerDay, per: 'day' }, clock.monotonic),
  links: limiter({ count: LIMITS.PRIVACY_LINKS_PER_DAY, per: 'day' }, clock.monotonic),
  signIns,
});

/** A pipeline for each kind of actor, over the same stores, credentials and limits of addresses. */
const pipelinesOver = (deps: AppDeps) => {
  const { limits, audit } = deps;
  const limited = limiterMaker(deps);
  const limiters = {
    failed: limited('failed', LIMITS.FAILED_CREDENTIALS_PER_MINUTE),
    unauthenticated: limited('unauthenticated', LIMITS.UNAUTHENTICATED_PER_MINUTE),
  };
  const shared = { deps, audit, limiters, overload: overload(deps.waits, limits.admissionWaitMs) };
  const rules = limitedRules(deps, limited);
  const signIns = signInLimiters(limited);
  const agents = new Pipeline<SignaturesOf<Handlers>, AgentActor<AgentDeps>>({
    ...shared,
    registry: agentOperations,
    handlers: agentHandlers,
    rules: rules.agent,
  });
  const tasks = new Pipeline<SignaturesOf<TaskHandlers>, TaskActor>({
    ...shared,
    registry: taskOperations,
    handlers: taskHandlers(),
    rules: taskRules(deps, rules.agent, { agents, tasks: (): TaskPipeline => tasks }),
  });
  return {
    takeCode: codeTakerOf(signIns.networks('allowDeviceLogin')),
    agents,
    tasks,
    records: new Pipeline<SignaturesOf<RecordHandlers>, AgentActor<PerformanceDeps>>({
      ...shared,
      registry: recordOperations,
      handlers: recordHandlers,
      rules: rules.agent,
    }),
    desk: new Pipeline<SignaturesOf<DeskHandlers>, DeskActor<DeskDeps>>({
      ...shared,
      registry: deskOperations,
      handlers: deskHandlers,
      rules: rules.desk,
    }),
    holders: new Pipeline<SignaturesOf<HolderHandlers>, HolderActor>({
      ...shared,
      registry: holderOperations,
      handlers: holderHandlers(holderLimits(deps, limited, signIns), deps),
      rules: rules.holder,
    }),
    visitors: new VisitorPipeline<VisitorSignatures, VisitorDeps>({
      deps,
      overload: shared.overload,
      registry: visitorOperations,
      handlers: { visitLink, locateLink, viewProduct, viewCategory, viewSearch, viewList },
    }),
  };
};

export const openApp = (deps: AppDeps): App => {
  const { clock, limits, secrets, log, following, origin, house } = deps;
  return {
    ...pipelinesOver(deps),
    origin,
    house,
    limits,
    now: clock.now,
    tokenFor: (outcome) =>
      consistencyToken(
        log.id,
        (outcome?.ok ? outcome.position : undefined) ?? following.asOf().position,
      ),
    sign: (document, keysUrl) => signDocument(secrets, document, keysUrl),
    signingKeys: () => keySet(secrets),
    watchTasks: (options) => taskWatch(deps, options),
    openIdIssuer: deps.openId?.provider.issuer,
    noteUse: (caller, client) => noteUse(deps, caller, client),
    followTask: (watch, followed) => followTask(deps, watch, followed),
  };
};
