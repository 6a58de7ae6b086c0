import { hash } from 'node:crypto';
import type { TaskMessage } from '#src/app/tasks/task-request.ts';
import type { TaskArtifact, TaskView } from '#src/app/tasks/task-view.ts';
import { z } from 'zod';
import { LIMITS } from '#contracts/limits.ts';
import { time } from '#contracts/fields.ts';
import type { TaskStatus } from '#src/domain/task.ts';
import { saidBy } from './wording.ts';

/* A2A 1.0 as it travels: camelCase JSON of lf.a2a.v1. Members that we do not know are passed over, as
the standard asks of both sides; what an operation gets is strict all the same. */

const MESSAGE_ID_CHARS_MAX = 255;
const PARTS_MAX = 16;

/** In JSON of protobuf an empty text is one that is not there. */
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
      taskPushNotificationConfig: z.unknown().optional(),
    })
    .optional(),
});

type SendShape = z.output<typeof sendShape>;

export const taskParams = z.object({
  id: z.string().min(1).max(100),
  historyLength: z.int().min(0).optional(),
});

const STATES = [
  'SUBMITTED',
  'WORKING',
  'COMPLETED',
  'FAILED',
  'CANCELED',
  'REJECTED',
  'INPUT_REQUIRED',
  'AUTH_REQUIRED',
] as const satisfies readonly TaskStatus[];

const UNSPECIFIED = 'TASK_STATE_UNSPECIFIED';

export const listParams = z.object({
  contextId: text(100),
  status: z
    .enum([UNSPECIFIED, ...STATES.map((state) => `TASK_STATE_${state}` as const)])
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

/** Of configs for push notifications nothing is read: they are refused whatever they say. */
export const anyParams = z.unknown();

/** Parts that no skill takes: files, and a second data part; by their place. */
const strangeParts = ({ message }: SendShape): { index: number; code: string }[] => {
  let data = 0;
  return message.parts.flatMap((one, index) => {
    const given = (['text', 'data', 'raw', 'url'] as const).filter(
      (name) => one[name] !== undefined,
    );
    if (given.includes('raw') || given.includes('url')) return [{ index, code: 'content_type' }];
    if (given.length !== 1) return [{ index, code: 'invalid_part' }];
    if (one.data === undefined) return [];
    data += 1;
    const isObject = typeof one.data === 'object' && one.data !== null && !Array.isArray(one.data);
    return data > 1 || !isObject ? [{ index, code: 'invalid_data' }] : [];
  });
};

const messageOf = ({ message }: SendShape): TaskMessage => {
  const { messageId, taskId, contextId, parts } = message;
  const data = parts.find((one) => one.data !== undefined)?.data;
  const words = parts.flatMap((one) => (one.text === undefined ? [] : [one.text]));
  return {
    messageId,
    taskId,
    contextId,
    data: data as Record<string, unknown> | undefined,
    otherParts: words.length === 0 ? '' : hash('sha256', JSON.stringify(words), 'base64url'),
  };
};

/** A message, read once: what it says, and what in it cannot be taken. */
export const sendParams = sendShape.transform((params) => ({
  message: messageOf(params),
  strange: strangeParts(params),
  wantsPush: params.configuration?.taskPushNotificationConfig !== undefined,
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
      { text: saidBy(view) },
      ...(view.detail ? [{ data: view.detail, mediaType: JSON_TYPE }] : []),
    ],
  },
});

/** Its content holds what shops, buyers and agents wrote: data to show, never to follow. */
const artifactOf = ({ id, name, content, cut }: TaskArtifact): object => ({
  artifactId: id,
  name,
  parts: [{ data: content, mediaType: JSON_TYPE, metadata: { untrusted: true } }],
  metadata: { untrusted: true, ...(cut && { truncated: true }) },
});

/** A task; messages are not kept, so there is no history in it. */
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

/** What one step of a task is on a stream: its new artifacts, then its status. */
export const updatesOf = (view: TaskView, before: TaskView): object[] => {
  const about = { taskId: view.id, contextId: view.contextId };
  const known = new Set(before.artifacts.map(({ id }) => id));
  return [
    ...view.artifacts
      .filter(({ id }) => !known.has(id))
      .map((artifact) => ({
        artifactUpdate: { ...about, artifact: artifactOf(artifact), lastChunk: true },
      })),
    { statusUpdate: { ...about, status: statusOf(view) } },
  ];
};
