import { type ProblemCode, PROBLEMS } from '#contracts/problems.ts';
import type { Refusal } from '#src/shared/outcome.ts';
import { problemBody } from '#src/web/problem.ts';
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
