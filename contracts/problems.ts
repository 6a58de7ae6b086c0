/** What a caller can do about a problem. */
export type RecoveryAction =
  | 'read_contract'
  | 'fix_request'
  | 'reduce'
  | 'retry_same_key'
  | 'obtain_key'
  | 'rotate_key'
  | 'contact_owner'
  | 'request_access_review'
  | 'hand_to_buyer'
  | 'check_id'
  | 'stop'
  | 'fix_fields'
  | 'restart_listing'
  | 'add_key'
  | 'new_key_or_original_body'
  | 're_read'
  | 'choose_other'
  | 'obtain_consent'
  | 'verify_channel'
  | 'upgrade'
  | 'use_server_side'
  | 'wait'
  | 'report_with_request_id';

export type ProblemDefinition = {
  readonly status: number;
  readonly title: string;
  readonly action: RecoveryAction;
  readonly hint: string;
  /** Whether the same call may succeed later. */
  readonly retryable?: true;
};

/**
 * Every problem that a call can answer. REST bodies, OpenAPI responses and the pages at /problems/{code} are
 * generated from this table. A code is never renamed and never reused. The answer of a rejected A2A task has the
 * title and hint of its code, also when it is replayed: do not reword those of codes that an agent's write answers.
 */
const TABLE = {
  route_not_found: {
    status: 404,
    title: 'No such route',
    action: 'read_contract',
    hint: 'Look the path up in the OpenAPI contract; the base path ends in /v1.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    action: 'read_contract',
    hint: 'Use one of the methods in the Allow header.',
  },
  not_acceptable: {
    status: 406,
    title: 'No such representation',
    action: 'fix_request',
    hint: 'Ask for one of the media types that the contract lists for this operation.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    action: 'fix_request',
    hint: 'Send the body as application/json in UTF-8, without content encoding.',
  },
  malformed_json: {
    status: 400,
    title: 'The body is not JSON',
    action: 'fix_request',
    hint: 'Send one JSON object, encoded as UTF-8.',
  },
  malformed_request: {
    status: 400,
    title: 'Malformed request',
    action: 'fix_request',
    hint: 'Correct the HTTP framing, nesting or names that the detail mentions.',
  },
  payload_too_large: {
    status: 413,
    title: 'The body is too large',
    action: 'reduce',
    hint: 'Keep the body within body_bytes_max, which getConnection shows, or split the work.',
  },
  uri_too_long: {
    status: 414,
    title: 'The URL is too long',
    action: 'reduce',
    hint: 'Shorten the query; use a cursor or fewer ids.',
  },
  headers_too_large: {
    status: 431,
    title: 'The headers are too large',
    action: 'reduce',
    hint: 'Send fewer or shorter header fields.',
  },
  request_timeout: {
    status: 408,
    title: 'The request arrived too slowly',
    action: 'retry_same_key',
    hint: 'Send it again with the same Idempotency-Key.',
    retryable: true,
  },
  credential_missing: {
    status: 401,
    title: 'No credential',
    action: 'obtain_key',
    hint: 'Send Authorization: Bearer <API_KEY>. Keys are issued by the owner after an access review.',
  },
  credential_invalid: {
    status: 401,
    title: 'The credential is not valid',
    action: 'rotate_key',
    hint: 'Check the key for truncation; otherwise ask the owner for a new one.',
  },
  credential_expired: {
    status: 401,
    title: 'The credential has expired',
    action: 'rotate_key',
    hint: 'Ask the owner to rotate the key.',
  },
  credential_revoked: {
    status: 401,
    title: 'The credential was revoked',
    action: 'contact_owner',
    hint: 'Ask the owner; a revoked key never works again.',
  },
  credential_in_url: {
    status: 400,
    title: 'The URL contains a credential',
    action: 'rotate_key',
    hint: 'URLs are logged: rotate this key, and send the new one in the Authorization header.',
  },
  secret_in_payload: {
    status: 400,
    title: 'The body contains a credential',
    action: 'rotate_key',
    hint: 'Nothing was stored. Remove the key from the body, and rotate it.',
  },
  scope_missing: {
    status: 403,
    title: 'The key lacks the scope',
    action: 'request_access_review',
    hint: 'Ask the owner to request the scope; getConnection shows what is granted and what is not.',
  },
  role_missing: {
    status: 403,
    title: 'The desk credential lacks the role',
    action: 'contact_owner',
    hint: 'Use a desk credential with one of the roles that the detail names.',
  },
  agent_suspended: {
    status: 403,
    title: 'The agent is suspended',
    action: 'contact_owner',
    hint: 'Ask the owner or staff to reinstate the agent.',
  },
  boundary_forbidden: {
    status: 403,
    title: 'No agent can do this',
    action: 'hand_to_buyer',
    hint: 'Create a handoff and give its review link to the buyer.',
  },
  resource_not_found: {
    status: 404,
    title: 'Not found',
    action: 'check_id',
    hint: "Check the id. Another owner's records are not found either.",
  },
  resource_erased: {
    status: 410,
    title: 'Erased',
    action: 'stop',
    hint: 'The personal data was erased on request. Do not send it again.',
  },
  validation_failed: {
    status: 422,
    title: 'Some fields are not valid',
    action: 'fix_fields',
    hint: 'Correct each field in errors[] and send the call again; the key is still free.',
  },
  parameter_invalid: {
    status: 400,
    title: 'Some parameters are not valid',
    action: 'fix_fields',
    hint: 'Correct each parameter in errors[].',
  },
  answer_too_large: {
    status: 422,
    title: 'The answer would be too large',
    action: 'reduce',
    hint: 'Ask for less at once; the detail names the parameters that narrow it.',
  },
  cursor_invalid: {
    status: 400,
    title: 'The cursor is not valid here',
    action: 'restart_listing',
    hint: 'Start the listing again without a cursor, and change no parameter between pages.',
  },
  cursor_expired: {
    status: 400,
    title: 'The cursor has expired',
    action: 'restart_listing',
    hint: 'Start the listing again without a cursor.',
  },
  consistency_token_invalid: {
    status: 400,
    title: 'The consistency token is not valid',
    action: 're_read',
    hint: 'Send a token from an answer of this service, or omit the header.',
  },
  idempotency_key_required: {
    status: 400,
    title: 'A write needs an idempotency key',
    action: 'add_key',
    hint: 'Send Idempotency-Key, one per intent, and the same one on every retry.',
  },
  idempotency_key_invalid: {
    status: 400,
    title: 'The idempotency key is not valid',
    action: 'add_key',
    hint: 'Use 1 to 255 characters of A-Z a-z 0-9 . _ : ~ + / = -, once.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'The idempotency key belongs to another request',
    action: 'new_key_or_original_body',
    hint: 'Use a new key for a new intent, or send the original body again.',
  },
  state_conflict: {
    status: 409,
    title: 'The record is in another state',
    action: 're_read',
    hint: 'Read the record again; the detail names its state.',
  },
  slug_taken: {
    status: 409,
    title: 'The slug is taken',
    action: 'choose_other',
    hint: 'Choose another slug, or omit it.',
  },
  product_unavailable: {
    status: 422,
    title: 'Some products are not published',
    action: 'choose_other',
    hint: 'errors[] points at each; send the call again without them or with other ones.',
  },
  link_target_invalid: {
    status: 422,
    title: 'The link target is not valid',
    action: 'choose_other',
    hint: 'Name a published product by id or sku, a category of the catalog, or search words.',
  },
  consent_missing: {
    status: 422,
    title: 'A contact needs a lawful basis',
    action: 'obtain_consent',
    hint: 'Send consent with basis and obtained_at, or omit the contact.',
  },
  disclosure_missing: {
    status: 422,
    title: 'A text with a link needs its disclosure',
    action: 'fix_fields',
    hint: 'Put the disclosure of the link record, "Promotional link" or #ad into the text.',
  },
  approver_missing: {
    status: 409,
    title: 'Nobody can approve outreach yet',
    action: 'contact_owner',
    hint: 'Nothing was proposed. Staff set who approves, and where it goes, at the desk.',
  },
  channel_not_verified: {
    status: 422,
    title: 'No channel for this kind of outreach',
    action: 'verify_channel',
    hint: 'Staff connect a channel for this kind at the desk, or enable it again.',
  },
  outreach_halted: {
    status: 409,
    title: 'Outreach is halted',
    action: 'contact_owner',
    hint: 'Nothing is proposed, approved or sent until a person resumes it.',
    retryable: true,
  },
  approval_expired: {
    status: 409,
    title: 'The request has expired',
    action: 'stop',
    hint: 'It was not approved in time. The agent may propose it again.',
  },
  approval_mismatch: {
    status: 409,
    title: 'The content has been revised',
    action: 're_read',
    hint: 'Read the request again, and decide on its new content_sha256.',
  },
  origin_not_allowed: {
    status: 403,
    title: 'The Origin header is not allowed',
    action: 'use_server_side',
    hint: 'Call from a server, without an Origin header; a key never belongs in a browser.',
  },
  header_mismatch: {
    status: 400,
    title: 'Headers and body do not match',
    action: 'fix_request',
    hint: 'Send MCP-Protocol-Version, Mcp-Method and Mcp-Name with the values of the body.',
  },
  version_unsupported: {
    status: 400,
    title: 'This protocol version is not supported',
    action: 'upgrade',
    hint: 'Use one of the versions that the answer lists.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    action: 'wait',
    hint: 'Wait for Retry-After seconds. RateLimit shows the remaining calls.',
    retryable: true,
  },
  overloaded: {
    status: 503,
    title: 'The service is overloaded',
    action: 'retry_same_key',
    hint: 'Nothing was executed. Retry with the same key after Retry-After seconds.',
    retryable: true,
  },
  shutting_down: {
    status: 503,
    title: 'The service is stopping',
    action: 'retry_same_key',
    hint: 'Retry with the same key after Retry-After seconds.',
    retryable: true,
  },
  storage_unavailable: {
    status: 503,
    title: 'The outcome is unknown',
    action: 'retry_same_key',
    hint: 'The write may have happened. Retry with the same key: it executes at most once, and answers the outcome.',
    retryable: true,
  },
  storage_full: {
    status: 507,
    title: 'The disk is full',
    action: 'retry_same_key',
    hint: 'Nothing was written. Retry later with the same key.',
    retryable: true,
  },
  read_model_rebuilding: {
    status: 503,
    title: 'The read model is not ready',
    action: 'wait',
    hint: 'Nothing was executed. Retry after Retry-After seconds.',
    retryable: true,
  },
  consistency_timeout: {
    status: 503,
    title: 'The read model has not reached the token yet',
    action: 'wait',
    hint: 'Retry after Retry-After seconds, or read without the token and compare as_of.',
    retryable: true,
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    action: 'report_with_request_id',
    hint: 'Report the request id. You can retry a write with the same key.',
    retryable: true,
  },
} as const satisfies Record<string, ProblemDefinition>;

export type ProblemCode = keyof typeof TABLE;

export const PROBLEMS: Readonly<Record<ProblemCode, ProblemDefinition>> = TABLE;

export const PROBLEM_CODES = Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]];

/** Problems of any operation. An operation declares only the others. */
export const UNIVERSAL_PROBLEMS = [
  'malformed_request',
  'not_acceptable',
  'credential_missing',
  'credential_invalid',
  'credential_expired',
  'credential_revoked',
  'credential_in_url',
  'agent_suspended',
  'uri_too_long',
  'headers_too_large',
  'request_timeout',
  'rate_limited',
  'overloaded',
  'shutting_down',
  'read_model_rebuilding',
  'internal_error',
] as const satisfies readonly ProblemCode[];

/** Problems of any write, by an agent or at the desk. */
export const WRITE_PROBLEMS = [
  'malformed_json',
  'unsupported_media_type',
  'payload_too_large',
  'secret_in_payload',
  'validation_failed',
  'idempotency_key_required',
  'idempotency_key_invalid',
  'idempotency_key_reused',
  'storage_unavailable',
  'storage_full',
] as const satisfies readonly ProblemCode[];

/** One fault of the input. `pointer`: JSON Pointer, or a parameter name after a slash. */
export type InputFault = { pointer: string; code: string; detail: string };
