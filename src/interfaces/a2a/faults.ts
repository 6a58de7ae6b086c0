import { type ProblemCode, PROBLEMS } from '#contracts/problems.ts';
import { type Refusal, refuse } from '#src/app/pipeline/outcome.ts';
import { problemBody } from '../http/problem.ts';
import { inTaskWords } from './wording.ts';

/** A refusal in the form of A2A: a code for JSON-RPC, a status for HTTP, a reason for both. */
export type A2aFault = {
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

const isStandard = (reason: string): reason is keyof typeof STANDARD =>
  Object.hasOwn(STANDARD, reason);

/** Problem codes that mean a fault in the parameters of the method. */
const INPUT: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  'secret_in_payload',
  'resource_not_found',
  'resource_erased',
  'validation_failed',
  'parameter_invalid',
  'cursor_invalid',
  'cursor_expired',
  'consistency_token_invalid',
  'idempotency_key_required',
  'idempotency_key_invalid',
  'idempotency_key_reused',
  'product_unavailable',
  'link_target_invalid',
  'consent_missing',
  'disclosure_missing',
]);

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

export const a2aFaultOf = (refusal: Refusal): A2aFault => {
  const { code, extra } = refusal;
  const given = extra?.['reason'];
  const reason = typeof given === 'string' ? given : code.toUpperCase();
  const { status } = PROBLEMS[code];
  const standard = code === 'version_unsupported' ? 'VERSION_NOT_SUPPORTED' : reason;
  const defined = isStandard(standard) ? STANDARD[standard] : undefined;
  if (defined) {
    const [rpc, http, name] = defined;
    return { rpc, http, rpcHttp: 200, status: name, reason: standard, isStandard: true, refusal };
  }
  const base = { reason, isStandard: false, refusal, status: NAMES[status] ?? 'UNKNOWN' };
  if (INPUT.has(code)) return { ...base, rpc: -32602, http: 400, rpcHttp: 200, status: INVALID };
  switch (code) {
    case 'malformed_json':
      return { ...base, rpc: -32700, http: 400, rpcHttp: 400 };
    case 'malformed_request':
      return { ...base, rpc: -32600, http: 400, rpcHttp: 400 };
    case 'route_not_found':
      return { ...base, rpc: -32601, http: 404, rpcHttp: 200 };
    case 'state_conflict':
    case 'approver_missing':
    case 'outreach_halted':
    case 'channel_not_verified':
      return { ...base, rpc: -32004, http: 400, rpcHttp: 200, status: PRECONDITION };
    case 'storage_unavailable':
    case 'storage_full':
    case 'read_model_rebuilding':
    case 'consistency_timeout':
      return { ...base, rpc: -32603, http: status, rpcHttp: 200 };
    case 'internal_error':
      return { ...base, rpc: -32603, http: 500, rpcHttp: 500 };
    default:
      // Refusals before the method have their HTTP status; the code repeats it in the body.
      return { ...base, rpc: status * 100, http: status, rpcHttp: status };
  }
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

export const pushUnsupported = (): Refusal =>
  refuse('state_conflict', 'Push notifications are not offered; follow the task by a stream.', {
    extra: { reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED' },
  });
