/** Fields of the desk's operations as they are typed on a command line. */

const FLAGS: Readonly<Record<string, string>> = {
  approvals_required: 'approvals',
  before: 'before',
  channels: 'channel',
  content_sha256: 'sha256',
  environment: 'test',
  evidence: 'evidence',
  expires_in_days: 'days',
  idempotency_key: 'idempotency-key',
  last: 'limit',
  limit: 'limit',
  mode: 'mode',
  name: 'name',
  note: 'note',
  outcome: 'outcome',
  overlap_hours: 'overlap-hours',
  owner_id: 'owner',
  purpose: 'purpose',
  reason: 'reason',
  roles: 'roles',
  scopes: 'scopes',
  status: 'status',
  stream: 'stream',
  to: 'to',
  up_to: 'at',
  value: 'value',
};

/** Without a flag: what stands behind the command itself. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  agent_id: 'the agent',
  handoff_id: 'the handoff',
  key_id: 'the key',
  lead_id: 'the lead',
  link_id: 'the link',
  outbound_id: 'the request',
  sku: 'the sku',
  subject: 'the subject',
  token_id: 'the token',
};

const placeText = (part: string): string => (/^\d+$/.test(part) ? `no. ${Number(part) + 1}` : part);

/** A JSON Pointer into an input as a person finds it on the line: `--scopes, no. 2`. */
export const typed = (pointer: string): string => {
  const [, field = '', ...inside] = pointer.split('/');
  const flag = FLAGS[field];
  const word = flag === undefined ? ARGUMENTS[field] : `--${flag}`;
  return word === undefined ? pointer || '/' : [word, ...inside.map(placeText)].join(', ');
};
