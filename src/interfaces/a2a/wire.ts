import { hash } from 'node:crypto';
import type { TaskMessage } from '#src/tasks/task-request.ts';
import type { TaskArtifact, TaskView } from '#src/tasks/task-view.ts';
import { z } from 'zod';
import { LIMITS } from '#contracts/limits.ts';
import { time } from '#contracts/fields.ts';
import { pushConfig, TASK_STATUSES } from '#contracts/tasks/tasks.operations.ts';
import type { TaskStatus } from '#src/tasks/task.decider.ts';
import { statusText } from './wording.ts';

/*
 * The messages of A2A 1.0: camelCase JSON of lf.a2a.v1. Unknown members are ignored, as the standard requires; the input
 * of an operation is strict.
 */

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

/** In the JSON of protobuf an empty member is the same as an absent one. */
const optional = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (value === '' || value === null ? undefined : value), schema.optional());

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

/** Parts that no skill accepts: files, and a second data part. */
const unsupportedParts = ({ message }: SendShape): { index: number; code: string }[] => {
  let data = 0;
  return message.parts.flatMap((one, index) => {
    const kinds = (['text', 'data', 'raw', 'url'] as const).filter(
      (name) => one[name] !== undefined,
    );
    if (kinds.includes('raw') || kinds.includes('url')) return [{ index, code: 'content_type' }];
    if (kinds.length !== 1) return [{ index, code: 'invalid_part' }];
    if (one.data === undefined) return [];
    data += 1;
    const isObject = typeof one.data === 'object' && one.data !== null && !Array.isArray(one.data);
    return data > 1 || !isObject ? [{ index, code: 'invalid_data' }] : [];
  });
};

const messageOf = ({ message }: SendShape): TaskMessage => {
  const { messageId, taskId, contextId, parts } = message;
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
export const sendParams = sendShape.transform((params) => ({
  message: messageOf(params),
  unsupported: unsupportedParts(params),
  push: params.configuration?.taskPushNotificationConfig,
}));

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
