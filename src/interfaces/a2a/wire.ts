/** Messages, tasks and faults in the form of A2A. */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { time } from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import { AGENT_BASE } from '#contracts/places.ts';
import { type ProblemCode, PROBLEMS } from '#contracts/problems.ts';
import { pushConfig, TASK_STATUSES } from '#contracts/tasks/operations.ts';
import { SKILLS } from '#contracts/tasks/skills.ts';
import { isRecord, scanJson } from '#src/shared/json.ts';
import type { Refusal } from '#src/shared/outcome.ts';
import type { TaskView, TaskMessage, TaskArtifact } from '#src/tasks/task-view.ts';
import type { TaskStatus } from '#src/tasks/task.decider.ts';
import { problemBody } from '#src/web/problem.ts';

/** Rewrites a text of the contract for A2A, which has no getConnection. */
const inTaskWords = (text: string): string =>
  text.replaceAll('getConnection', `GET ${AGENT_BASE}/connection`);

/** Text of a task's status, with the missing scope: a task stores its skill and not the scope. */
const statusText = ({ says, detail, skill }: TaskView): string => {
  const text = inTaskWords(says);
  const lacksScope = skill && detail && 'code' in detail && detail.code === 'scope_missing';
  return lacksScope ? `${text} ${SKILLS[skill].name} needs ${SKILLS[skill].needs}.` : text;
};

/*
 * The messages of A2A 1.0: camelCase JSON of lf.a2a.v1. Unknown members are ignored, as the standard requires; the input
 * of an operation is strict.
 */

/** Members with JSON of the caller's own, in which names and null mean what the caller says. */
const OWN_JSON: ReadonlySet<string> = new Set(['data', 'metadata']);

const camelCase = (name: string): string =>
  name.replaceAll(/_([a-z0-9])/g, (_whole, letter: string) => letter.toUpperCase());

/**
 * Reads the JSON of protobuf as its parsers do: a member that is null is absent, and the names of the definition
 * (`context_id`) are the same as those in camelCase. Lists keep null, as an invalid item.
 */
export const readProtoJson = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(readProtoJson);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value as Record<string, unknown>)
    .filter(([, member]) => member !== null)
    .map(([name, member]): [string, unknown] => {
      const known = camelCase(name);
      return [known, OWN_JSON.has(known) ? member : readProtoJson(member)];
    });
  return Object.fromEntries(members);
};

const MESSAGE_ID_CHARS_MAX = 255;
const PARTS_MAX = 16;

/** In the JSON of protobuf an empty text is the same as an absent one. */
const text = (max: number) =>
  z
    .string()
    .max(max)
    .optional()
    .transform((value) => value || undefined);

const part = z.object({
  text: z.string().optional(),
  data: z.unknown().optional(),
  raw: z.unknown().optional(),
  url: z.unknown().optional(),
});

/** In the JSON of protobuf an empty text is the same as an absent one. */
const optional = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (value === '' ? undefined : value), schema.optional());

const pushShape = z.object({
  id: optional(pushConfig.id),
  url: pushConfig.url,
  token: optional(pushConfig.token),
  authentication: optional(pushConfig.authentication),
});

const sendShape = z.object({
  message: z.object({
    messageId: z.string().min(1).max(MESSAGE_ID_CHARS_MAX),
    contextId: text(100),
    taskId: text(100),
    role: z.literal('ROLE_USER'),
    parts: z.array(part).min(1).max(PARTS_MAX),
  }),
  configuration: z
    .object({
      historyLength: z.int().min(0).optional(),
      returnImmediately: z.boolean().optional(),
      taskPushNotificationConfig: optional(pushShape),
    })
    .optional(),
});

type SendShape = z.output<typeof sendShape>;

export const taskParams = z.object({
  id: z.string().min(1).max(100),
  historyLength: z.int().min(0).optional(),
});

const UNSPECIFIED = 'TASK_STATE_UNSPECIFIED';

export const listParams = z.object({
  contextId: text(100),
  status: z
    .enum([UNSPECIFIED, ...TASK_STATUSES.map((state) => `TASK_STATE_${state}` as const)])
    .optional()
    .transform((state) =>
      state === undefined || state === UNSPECIFIED
        ? undefined
        : (state.slice('TASK_STATE_'.length) as TaskStatus),
    ),
  pageSize: z.int().min(1).max(LIMITS.PAGE_ROWS_MAX).default(50),
  pageToken: text(500),
  historyLength: z.int().min(0).optional(),
  statusTimestampAfter: time.optional(),
  includeArtifacts: z.boolean().default(false),
});

/** Parameters that are not read. */
export const anyParams = z.unknown();

const taskId = z.string().min(1).max(100);

export const pushParams = pushShape.extend({ taskId });
export const pushIdParams = z.object({ taskId, id: z.string().min(1).max(100) });
export const pushListParams = z.object({
  taskId,
  // Zero, the default of protobuf, leaves the size to the service.
  pageSize: z
    .int()
    .min(0)
    .max(LIMITS.PAGE_ROWS_MAX)
    .default(0)
    .transform((size) => size || 50),
  pageToken: text(500),
});

const FENCE = /^```(?:json)?\s([\s\S]*)```$/;

/** The request that a text part is: a JSON object with `skill`, which clients without data parts send as text. */
const requestIn = (text: string): Record<string, unknown> | undefined => {
  const whole = text.trim();
  const json = (FENCE.exec(whole)?.[1] ?? whole).trim();
  if (!json.startsWith('{') || scanJson(json)) return undefined;
  try {
    const value: unknown = JSON.parse(json);
    return isRecord(value) && 'skill' in value ? value : undefined;
  } catch {
    return undefined;
  }
};

/** Reads a text part that is a request as the data part that it stands for. */
const withData = (one: z.output<typeof part>): z.output<typeof part> => {
  const data = one.text === undefined || one.data !== undefined ? undefined : requestIn(one.text);
  return data ? { data } : one;
};

/** Parts that no skill accepts: files, and a second data part. */
const unsupportedParts = (
  parts: SendShape['message']['parts'],
): { index: number; code: string }[] => {
  let data = 0;
  return parts.flatMap((one, index) => {
    const kinds = (['text', 'data', 'raw', 'url'] as const).filter(
      (name) => one[name] !== undefined,
    );
    if (kinds.includes('raw') || kinds.includes('url')) return [{ index, code: 'content_type' }];
    if (kinds.length !== 1) return [{ index, code: 'invalid_part' }];
    if (one.data === undefined) return [];
    data += 1;
    return data > 1 || !isRecord(one.data) ? [{ index, code: 'invalid_data' }] : [];
  });
};

const messageOf = (
  { messageId, taskId, contextId }: SendShape['message'],
  parts: SendShape['message']['parts'],
): TaskMessage => {
  const data = parts.find((one) => one.data !== undefined)?.data;
  const texts = parts.flatMap((one) => (one.text === undefined ? [] : [one.text]));
  return {
    messageId,
    taskId,
    contextId,
    data: data as Record<string, unknown> | undefined,
    otherParts: texts.length === 0 ? '' : hash('sha256', JSON.stringify(texts), 'base64url'),
  };
};

/** Parameters of a message, with the parts that are not supported. */
export const sendParams = sendShape.transform(({ message, configuration }) => {
  const hasData = message.parts.some(({ data }) => data !== undefined);
  const parts = hasData ? message.parts : message.parts.map(withData);
  return {
    message: messageOf(message, parts),
    unsupported: unsupportedParts(parts),
    push: configuration?.taskPushNotificationConfig,
  };
});

export type SendParams = z.output<typeof sendParams>;

const JSON_TYPE = 'application/json';

const statusOf = (view: TaskView): object => ({
  state: `TASK_STATE_${view.status}`,
  timestamp: view.at,
  message: {
    messageId: `${view.id}.${view.version}`,
    contextId: view.contextId,
    taskId: view.id,
    role: 'ROLE_AGENT',
    parts: [
      { text: statusText(view) },
      ...(view.detail ? [{ data: view.detail, mediaType: JSON_TYPE }] : []),
    ],
  },
});

/** Marks the content as untrusted: shops, buyers and agents wrote it. */
const artifactOf = ({ id, name, content, cut }: TaskArtifact): object => ({
  artifactId: id,
  name,
  parts: [{ data: content, mediaType: JSON_TYPE, metadata: { untrusted: true } }],
  metadata: { untrusted: true, ...(cut && { truncated: true }) },
});

/** A task without history, because messages are not stored. */
export const taskOf = (view: TaskView): object => ({
  id: view.id,
  contextId: view.contextId,
  status: statusOf(view),
  ...(view.artifacts.length > 0 && { artifacts: view.artifacts.map(artifactOf) }),
  metadata: {
    ...(view.skill !== undefined && { skill: view.skill }),
    ...(view.record !== undefined && { record: view.record }),
  },
});

/** The body of a push notification: a StreamResponse with the whole task. */
export const pushBody = (view: TaskView): string => JSON.stringify({ task: taskOf(view) });

/** Events of one change of a task: its new artifacts, then its status. */
export const updatesOf = (view: TaskView, before: TaskView): object[] => {
  const about = { taskId: view.id, contextId: view.contextId };
  const sent = new Set(before.artifacts.map(({ id }) => id));
  return [
    ...view.artifacts
      .filter(({ id }) => !sent.has(id))
      .map((artifact) => ({
        artifactUpdate: { ...about, artifact: artifactOf(artifact), lastChunk: true },
      })),
    { statusUpdate: { ...about, status: statusOf(view) } },
  ];
};

/** A refusal in the form of A2A: a code for JSON-RPC, a status for HTTP, a reason for both. */
type A2aFault = {
  rpc: number;
  /** HTTP status over HTTP+JSON. */
  http: number;
  /** HTTP status over JSON-RPC, which is 200 for the error of a method. */
  rpcHttp: number;
  /** google.rpc.Code by name. */
  status: string;
  reason: string;
  isStandard: boolean;
  refusal: Refusal;
};

type Standard = readonly [rpc: number, http: number, status: string];

const PRECONDITION = 'FAILED_PRECONDITION';
const INVALID = 'INVALID_ARGUMENT';

/** The errors that A2A 1.0 names (5.4), by reason. */
const STANDARD = {
  TASK_NOT_FOUND: [-32001, 404, 'NOT_FOUND'],
  TASK_NOT_CANCELABLE: [-32002, 400, PRECONDITION],
  PUSH_NOTIFICATION_NOT_SUPPORTED: [-32003, 400, PRECONDITION],
  UNSUPPORTED_OPERATION: [-32004, 400, PRECONDITION],
  CONTENT_TYPE_NOT_SUPPORTED: [-32005, 400, INVALID],
  VERSION_NOT_SUPPORTED: [-32009, 400, PRECONDITION],
} as const satisfies Record<string, Standard>;

const STANDARD_OF: Partial<Record<ProblemCode, keyof typeof STANDARD>> = {
  unsupported_media_type: 'CONTENT_TYPE_NOT_SUPPORTED',
  version_unsupported: 'VERSION_NOT_SUPPORTED',
};

const isStandard = (reason: string): reason is keyof typeof STANDARD =>
  Object.hasOwn(STANDARD, reason);

const NAMES: Record<number, string> = {
  400: INVALID,
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: PRECONDITION,
  413: INVALID,
  415: INVALID,
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  507: 'RESOURCE_EXHAUSTED',
};

type Mapped = Pick<A2aFault, 'rpc'> & Partial<Pick<A2aFault, 'http' | 'rpcHttp' | 'status'>>;

/** A fault in the parameters of the method. */
const PARAMETERS: Mapped = { rpc: -32602, http: 400, status: INVALID };
const NOT_POSSIBLE: Mapped = { rpc: -32004, http: 400, status: PRECONDITION };
const NOT_NOW: Mapped = { rpc: -32603 };

/** Problems with a code of JSON-RPC or A2A; their HTTP status over JSON-RPC is 200 except where it is given. */
const MAPPED: Partial<Record<ProblemCode, Mapped>> = {
  malformed_json: { rpc: -32700, rpcHttp: 400 },
  malformed_request: { rpc: -32600, rpcHttp: 400 },
  internal_error: { rpc: -32603, rpcHttp: 500 },
  route_not_found: { rpc: -32601 },
  secret_in_payload: PARAMETERS,
  resource_not_found: PARAMETERS,
  resource_erased: PARAMETERS,
  validation_failed: PARAMETERS,
  parameter_invalid: PARAMETERS,
  cursor_invalid: PARAMETERS,
  cursor_expired: PARAMETERS,
  consistency_token_invalid: PARAMETERS,
  idempotency_key_required: PARAMETERS,
  idempotency_key_invalid: PARAMETERS,
  idempotency_key_reused: PARAMETERS,
  product_unavailable: PARAMETERS,
  link_target_invalid: PARAMETERS,
  consent_missing: PARAMETERS,
  disclosure_missing: PARAMETERS,
  state_conflict: NOT_POSSIBLE,
  approver_missing: NOT_POSSIBLE,
  outreach_halted: NOT_POSSIBLE,
  channel_not_verified: NOT_POSSIBLE,
  storage_unavailable: NOT_NOW,
  storage_full: NOT_NOW,
  log_replaced: NOT_NOW,
  read_model_rebuilding: NOT_NOW,
  consistency_timeout: NOT_NOW,
};

export const a2aFaultOf = (refusal: Refusal): A2aFault => {
  const { code, extra } = refusal;
  const given = extra?.['reason'];
  const reason = typeof given === 'string' ? given : code.toUpperCase();
  const { status: http } = PROBLEMS[code];
  const standard = STANDARD_OF[code] ?? reason;
  if (isStandard(standard)) {
    const [rpc, ofMethod, status] = STANDARD[standard];
    // The media type of the request is refused before its method is known.
    const isEarly = code === 'unsupported_media_type';
    const statuses = isEarly ? { http, rpcHttp: http } : { http: ofMethod, rpcHttp: 200 };
    return { rpc, ...statuses, status, reason: standard, isStandard: true, refusal };
  }
  const base = { http, status: NAMES[http] ?? 'UNKNOWN', reason, isStandard: false, refusal };
  const mapped = MAPPED[code];
  // Refusals before the method have their HTTP status; the code repeats it in the body.
  return mapped
    ? { ...base, rpcHttp: 200, ...mapped }
    : { ...base, rpcHttp: http, rpc: http * 100 };
};

const TYPE = 'type.googleapis.com/google.rpc.';

/** error.data of JSON-RPC, error.details of HTTP+JSON. */
const detailsOf = (
  { reason, isStandard, refusal }: A2aFault,
  about: { origin: string; requestId: string },
): object[] => {
  const { code, request_id, recovery, links, errors = [] } = problemBody(refusal, about);
  const { required_scope, boundary } = refusal.extra ?? {};
  return [
    {
      '@type': `${TYPE}ErrorInfo`,
      reason,
      domain: isStandard ? 'a2a-protocol.org' : new URL(about.origin).host,
      metadata: {
        code,
        request_id,
        action: recovery.action,
        hint: inTaskWords(recovery.hint),
        retryable: String(recovery.retryable),
        docs: links.docs,
        ...(typeof required_scope === 'string' && { required_scope }),
        ...(typeof boundary === 'string' && { boundary }),
      },
    },
    ...(errors.length > 0
      ? [
          {
            '@type': `${TYPE}BadRequest`,
            fieldViolations: errors.map(({ pointer, code, detail }) => ({
              field: pointer.slice(1).replaceAll('/', '.'),
              description: detail,
              reason: code.toUpperCase(),
            })),
          },
        ]
      : []),
    ...(refusal.retryAfterS === undefined
      ? []
      : [{ '@type': `${TYPE}RetryInfo`, retryDelay: `${refusal.retryAfterS}s` }]),
  ];
};

type About = { origin: string; requestId: string };

export const rpcError = (fault: A2aFault, id: string | number | null, about: About): object => ({
  jsonrpc: '2.0',
  id,
  error: { code: fault.rpc, message: fault.refusal.detail, data: detailsOf(fault, about) },
});

export const httpError = (fault: A2aFault, about: About): object => ({
  error: {
    code: fault.http,
    status: fault.status,
    message: fault.refusal.detail,
    details: detailsOf(fault, about),
  },
});
