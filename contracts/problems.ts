/** Every problem that an operation can answer: its status, title, and what the caller can do. */
export type ProblemDefinition = {
  readonly status: number;
  readonly title: string;
  /** What a caller can do about it, for programs. */
  readonly action: string;
  /** The same for people. */
  readonly hint: string;
  /** Whether the same call may succeed later. */
  readonly retryable?: true;
};

type Texts = Pick<ProblemDefinition, 'title' | 'hint'>;

const problem = (status: number, action: string, texts: Texts): ProblemDefinition => ({
  status,
  action,
  ...texts,
});

/** A problem after which the same call may succeed. */
const temporary = (status: number, action: string, texts: Texts): ProblemDefinition => ({
  ...problem(status, action, texts),
  retryable: true,
});

/**
 * Every problem that a call can answer. REST bodies, OpenAPI responses and the pages at /problems/{code} are
 * generated from this table. A code is never renamed and never reused. The answer of a rejected A2A task has the
 * title and hint of its code, also when it is replayed: do not reword those of codes that an agent's write answers.
 */
const TABLE = {
  route_not_found: problem(404, 'read_contract', {
    title: 'No such route',
    hint: 'Look the path up in the OpenAPI contract; the base path ends in /v1.',
  }),
  method_not_allowed: problem(405, 'read_contract', {
    title: 'Method not allowed',
    hint: 'Use one of the methods in the Allow header.',
  }),
  method_unknown: problem(501, 'read_contract', {
    title: 'The method is not known',
    hint: 'Use GET, HEAD, POST or OPTIONS; the contract lists the methods of each path.',
  }),
  precondition_failed: problem(412, 'fix_request', {
    title: 'A precondition of the request failed',
    hint: 'Read the document again, and send its ETag in If-Match, or leave If-Match out.',
  }),
  not_acceptable: problem(406, 'fix_request', {
    title: 'No such representation',
    hint: 'Ask for one of the media types that the contract lists for this operation.',
  }),
  unsupported_media_type: problem(415, 'fix_request', {
    title: 'Unsupported media type',
    hint: 'Send the body as application/json in UTF-8, without content encoding.',
  }),
  malformed_json: problem(400, 'fix_request', {
    title: 'The body is not JSON',
    hint: 'Send one JSON object, encoded as UTF-8.',
  }),
  malformed_request: problem(400, 'fix_request', {
    title: 'Malformed request',
    hint: 'Correct the HTTP framing, nesting or names that the detail mentions.',
  }),
  payload_too_large: problem(413, 'reduce', {
    title: 'The body is too large',
    hint: 'Keep the body within body_bytes_max, which getConnection shows, or split the work.',
  }),
  uri_too_long: problem(414, 'reduce', {
    title: 'The URL is too long',
    hint: 'Shorten the query; use a cursor or fewer ids.',
  }),
  headers_too_large: problem(431, 'reduce', {
    title: 'The headers are too large',
    hint: 'Send fewer or shorter header fields.',
  }),
  request_timeout: temporary(408, 'retry_same_key', {
    title: 'The request arrived too slowly',
    hint: 'Send it again with the same Idempotency-Key.',
  }),
  credential_missing: problem(401, 'obtain_key', {
    title: 'No credential',
    hint: 'Send Authorization: Bearer <API_KEY>. Keys are issued by the owner after an access review.',
  }),
  credential_invalid: problem(401, 'rotate_key', {
    title: 'The credential is not valid',
    hint: 'Check the key for truncation; otherwise ask the owner for a new one.',
  }),
  credential_expired: problem(401, 'rotate_key', {
    title: 'The credential has expired',
    hint: 'Ask the owner to rotate the key.',
  }),
  credential_revoked: problem(401, 'contact_owner', {
    title: 'The credential was revoked',
    hint: 'Ask the owner; a revoked key never works again.',
  }),
  credential_in_url: problem(400, 'rotate_key', {
    title: 'The URL contains a credential',
    hint: 'URLs are logged: rotate this key, and send the new one in the Authorization header.',
  }),
  secret_in_payload: problem(400, 'rotate_key', {
    title: 'The body contains a credential',
    hint: 'Nothing was stored. Remove the key from the body, and rotate it.',
  }),
  scope_missing: problem(403, 'request_access_review', {
    title: 'The key lacks the scope',
    hint: 'Ask the owner to request the scope; getConnection shows what is granted and what is not.',
  }),
  role_missing: problem(403, 'contact_owner', {
    title: 'The desk credential lacks the role',
    hint: 'Use a desk credential with one of the roles that the detail names.',
  }),
  fresh_sign_in_needed: problem(403, 'sign_in_again', {
    title: 'Sign in again first',
    hint: 'This act needs a sign-in of the last minutes. Sign in again; what was typed is kept.',
  }),
  approver_not_independent: problem(403, 'choose_other', {
    title: 'Another person must approve',
    hint: 'Ask a person with the role who neither asked for it nor issued a token to the one who did.',
  }),
  agent_suspended: problem(403, 'contact_owner', {
    title: 'The agent is suspended',
    hint: 'Ask the owner or staff to reinstate the agent.',
  }),
  boundary_forbidden: problem(403, 'hand_to_buyer', {
    title: 'No agent can do this',
    hint: 'Create a handoff and give its review link to the buyer.',
  }),
  resource_not_found: problem(404, 'check_id', {
    title: 'Not found',
    hint: "Check the id. Another owner's records are not found either.",
  }),
  resource_erased: problem(410, 'stop', {
    title: 'Erased',
    hint: 'The personal data was erased on request. Do not send it again.',
  }),
  validation_failed: problem(422, 'fix_fields', {
    title: 'Some fields are not valid',
    hint: 'Correct each field in errors[] and send the call again; the key is still free.',
  }),
  parameter_invalid: problem(400, 'fix_fields', {
    title: 'Some parameters are not valid',
    hint: 'Correct each parameter in errors[].',
  }),
  answer_too_large: problem(422, 'reduce', {
    title: 'The answer would be too large',
    hint: 'Ask for less at once; the detail names the parameters that narrow it.',
  }),
  cursor_invalid: problem(400, 'restart_listing', {
    title: 'The cursor is not valid here',
    hint: 'Start the listing again without a cursor, and change no parameter between pages.',
  }),
  cursor_expired: problem(400, 'restart_listing', {
    title: 'The cursor has expired',
    hint: 'Start the listing again without a cursor.',
  }),
  consistency_token_invalid: problem(400, 're_read', {
    title: 'The consistency token is not valid',
    hint: 'Send a token from an answer of this service, or omit the header.',
  }),
  idempotency_key_required: problem(400, 'add_key', {
    title: 'A write needs an idempotency key',
    hint: 'Send Idempotency-Key, one per intent, and the same one on every retry.',
  }),
  idempotency_key_invalid: problem(400, 'add_key', {
    title: 'The idempotency key is not valid',
    hint: 'Use 1 to 255 characters of A-Z a-z 0-9 . _ : ~ + / = -, once.',
  }),
  idempotency_key_reused: problem(422, 'new_key_or_original_body', {
    title: 'The idempotency key belongs to another request',
    hint: 'Use a new key for a new intent, or send the original body again.',
  }),
  state_conflict: problem(409, 're_read', {
    title: 'The record is in another state',
    hint: 'Read the record again; the detail names its state.',
  }),
  slug_taken: problem(409, 'choose_other', {
    title: 'The slug is taken',
    hint: 'Choose another slug, or omit it.',
  }),
  product_unavailable: problem(422, 'choose_other', {
    title: 'Some products are not published',
    hint: 'errors[] points at each; send the call again without them or with other ones.',
  }),
  link_target_invalid: problem(422, 'choose_other', {
    title: 'The link target is not valid',
    hint: 'Name a published product by id or sku, a category of the catalog, or search words.',
  }),
  consent_missing: problem(422, 'obtain_consent', {
    title: 'A contact needs a lawful basis',
    hint: 'Send consent with basis and obtained_at, or omit the contact.',
  }),
  disclosure_missing: problem(422, 'fix_fields', {
    title: 'A text with a link needs its disclosure',
    hint: 'Put the disclosure of the link record, "Promotional link" or #ad into the text.',
  }),
  approver_missing: problem(409, 'contact_owner', {
    title: 'Nobody can approve outreach yet',
    hint: 'Nothing was proposed. Staff set who approves, and where it goes, at the desk.',
  }),
  channel_not_verified: problem(422, 'verify_channel', {
    title: 'No channel for this kind of outreach',
    hint: 'Staff connect a channel for this kind at the desk, or enable it again.',
  }),
  outreach_halted: temporary(409, 'contact_owner', {
    title: 'Outreach is halted',
    hint: 'Nothing is proposed, approved or sent until a person resumes it.',
  }),
  approval_expired: problem(409, 'stop', {
    title: 'The request has expired',
    hint: 'It was not approved in time. The agent may propose it again.',
  }),
  approval_mismatch: problem(409, 're_read', {
    title: 'The content has been revised',
    hint: 'Read the request again, and decide on its new content_sha256.',
  }),
  origin_not_allowed: problem(403, 'use_server_side', {
    title: 'The Origin header is not allowed',
    hint: 'Call from a server, without an Origin header; a key never belongs in a browser.',
  }),
  header_mismatch: problem(400, 'fix_request', {
    title: 'Headers and body do not match',
    hint: 'Send MCP-Protocol-Version, Mcp-Method and Mcp-Name with the values of the body.',
  }),
  version_unsupported: problem(400, 'upgrade', {
    title: 'This protocol version is not supported',
    hint: 'Use one of the versions that the answer lists.',
  }),
  rate_limited: temporary(429, 'wait', {
    title: 'Too many requests',
    hint: 'Wait for Retry-After seconds. RateLimit shows the remaining calls.',
  }),
  overloaded: temporary(503, 'retry_same_key', {
    title: 'The service is overloaded',
    hint: 'Nothing was executed. Retry with the same key after Retry-After seconds.',
  }),
  shutting_down: temporary(503, 'retry_same_key', {
    title: 'The service is stopping',
    hint: 'Retry with the same key after Retry-After seconds.',
  }),
  storage_unavailable: temporary(503, 'retry_same_key', {
    title: 'The storage is not available',
    hint: '`outcome` says whether this call wrote: none or unknown. Retry with the same key: the write executes at most once, and answers its outcome.',
  }),
  storage_full: temporary(507, 'retry_same_key', {
    title: 'The disk is full',
    hint: 'Nothing was written. Retry later with the same key.',
  }),
  clock_behind: temporary(503, 'wait', {
    title: 'The clock is behind the log',
    hint: 'Nothing was executed. An operator must set the clock, or accept it at the desk. Retry with the same key.',
  }),
  log_replaced: temporary(503, 'wait', {
    title: 'The log was replaced',
    hint: 'Nothing is written until an operator restores the log or accepts the new one. Reads show what was recorded before. Repeat a write later with the same key.',
  }),
  read_model_rebuilding: temporary(503, 'wait', {
    title: 'The read model is not ready',
    hint: 'Nothing was executed. Retry after Retry-After seconds.',
  }),
  consistency_timeout: temporary(503, 'wait', {
    title: 'The read model has not reached the token yet',
    hint: 'Retry after Retry-After seconds, or read without the token and compare as_of.',
  }),
  internal_error: temporary(500, 'report_with_request_id', {
    title: 'Internal error',
    hint: 'Report the request id. You can retry a write with the same key.',
  }),
} satisfies Record<string, ProblemDefinition>;

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
  'clock_behind',
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
  'log_replaced',
] as const satisfies readonly ProblemCode[];

/** Problems of any query that waits for a consistency token. */
export const TOKEN_PROBLEMS = [
  'consistency_token_invalid',
  'consistency_timeout',
  'log_replaced',
] as const satisfies readonly ProblemCode[];

/** Problems of any query that waits for a consistency token and answers in pages. */
export const PAGE_PROBLEMS = [
  'cursor_invalid',
  'cursor_expired',
  ...TOKEN_PROBLEMS,
] as const satisfies readonly ProblemCode[];

/**
 * One fault of the input. `pointer`: JSON Pointer, or a parameter name after a slash. `value`: what was sent, cut,
 * with each invisible character as its code point. The other members have no text of the caller.
 */
export type InputFault = { pointer: string; code: string; detail: string; value?: string };
