/**
 * A2A 0.3 over JSON-RPC, translated to and from the methods of 1.0: many frameworks speak only this version. A request
 * without A2A-Version is of 0.3.
 */
import { isRecord } from '#src/shared/json.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';

export const LEGACY_VERSION = '0.3';

type Members = Record<string, unknown>;

/** The methods of 0.3, and those of 1.0 that perform them. */
const METHODS = {
  'message/send': 'SendMessage',
  'message/stream': 'SendStreamingMessage',
  'tasks/get': 'GetTask',
  'tasks/cancel': 'CancelTask',
  'tasks/resubscribe': 'SubscribeToTask',
} as const;

type LegacyName = keyof typeof METHODS;

const isLegacyName = (name: string): name is LegacyName => Object.hasOwn(METHODS, name);

/** A file has a kind in 0.3, and a member of its own in 1.0. */
const partOf = (part: unknown): unknown =>
  isRecord(part) && part['kind'] === 'file' ? { raw: part['file'] ?? '' } : part;

/** The parameters of a message; all others are those of 1.0. */
const paramsOf = (params: unknown): unknown => {
  if (!isRecord(params) || !isRecord(params['message'])) return params;
  const { message, configuration } = params;
  const { role, parts } = message as Members;
  const { blocking, ...rest } = isRecord(configuration) ? configuration : {};
  return {
    message: {
      ...(message as Members),
      role: String(role).toLowerCase() === 'user' ? 'ROLE_USER' : role,
      parts: Array.isArray(parts) ? parts.map(partOf) : parts,
    },
    configuration: { ...rest, ...(blocking === false && { returnImmediately: true }) },
  };
};

/** The call of 1.0 that a call of 0.3 is; undefined for a name that 0.3 does not have. */
export const legacyCall = (
  method: string,
  params: unknown,
): { name: (typeof METHODS)[LegacyName]; params: unknown } | Refusal | undefined => {
  const configuration = isRecord(params) ? params['configuration'] : undefined;
  const push = isRecord(configuration) ? configuration['pushNotificationConfig'] : undefined;
  if (method.startsWith('tasks/pushNotificationConfig/') || (push ?? undefined) !== undefined)
    return refuse('validation_failed', 'Push notifications need A2A 1.0.', {
      extra: { reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED' },
    });
  return isLegacyName(method)
    ? { name: METHODS[method], params: paramsOf(params ?? {}) }
    : undefined;
};

const stateOf = (state: unknown): string =>
  String(state).slice('TASK_STATE_'.length).toLowerCase().replaceAll('_', '-');

/** States in which a stream continues. */
const OPEN: ReadonlySet<string> = new Set(['submitted', 'working']);

const legacyPart = (part: Members): Members => {
  const { mediaType: _type, ...rest } = part;
  return { kind: 'text' in part ? 'text' : 'data', ...rest };
};

const withParts = <Holder extends { parts: Members[] }>(holder: Holder): Holder => ({
  ...holder,
  parts: holder.parts.map(legacyPart),
});

type Status = { state: string; message: { parts: Members[] } };
type Artifact = { parts: Members[] };
type Task = { status: Status; artifacts?: Artifact[] };

const statusOf = ({ state, message, ...rest }: Status): Members => ({
  ...rest,
  state: stateOf(state),
  message: { kind: 'message', ...withParts(message), role: 'agent' },
});

const taskOf = ({ status, artifacts, ...rest }: Task): Members => ({
  kind: 'task',
  ...rest,
  status: statusOf(status),
  ...(artifacts && { artifacts: artifacts.map(withParts) }),
});

/** A result of 1.0, or an event of its streams, as 0.3 has it. */
export const legacyResult = (result: object): object => {
  if ('task' in result) return taskOf(result.task as Task);
  if ('artifactUpdate' in result) {
    const { artifact, ...rest } = result.artifactUpdate as { artifact: Artifact };
    return { kind: 'artifact-update', ...rest, artifact: withParts(artifact) };
  }
  if ('statusUpdate' in result) {
    const { status, ...rest } = result.statusUpdate as { status: Status };
    const final = !OPEN.has(stateOf(status.state));
    return { kind: 'status-update', ...rest, status: statusOf(status), final };
  }
  return taskOf(result as Task);
};

/** The members of a card of 1.0 that are not the same in 0.3. */
type Secured = {
  securitySchemes: {
    apiKey: { httpAuthSecurityScheme: { scheme: string; description: string } };
  };
  securityRequirements: readonly { schemes: { apiKey: { list: readonly string[] } } }[];
};

/**
 * Adds the members of 0.3 to a card of 1.0, as the official Python server does: clients of each version ignore those of
 * the other. The type of the security scheme also keeps the official JavaScript client from parsing the card twice,
 * which would lose it, and the signature with it.
 */
export const withLegacyMembers = <Card extends Secured>(card: Card, url: string): object => {
  const { apiKey } = card.securitySchemes;
  return {
    ...card,
    protocolVersion: `${LEGACY_VERSION}.0`,
    url,
    preferredTransport: 'JSONRPC',
    security: card.securityRequirements.map(({ schemes }) => ({ apiKey: schemes.apiKey.list })),
    securitySchemes: { apiKey: { type: 'http', ...apiKey.httpAuthSecurityScheme, ...apiKey } },
  };
};
