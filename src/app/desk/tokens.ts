import { NO_STREAM } from '#src/ports/event-log.ts';
import { attribute } from '../attribution.ts';
import { mintCredential } from '../authenticate.ts';
import { done, refuse } from '../outcome.ts';
import { DAY_MS, iso } from '../time.ts';
import type { DeskHandler } from './handler.ts';
import { keyIdOf } from './key-id.ts';

const SECRET_CHARS = 43;

export const issueDeskToken: DeskHandler<'issueDeskToken'> = async (deps, input, call) => {
  const { name, roles, owner_id, expires_in_days } = input;
  if (owner_id !== undefined && roles.some((role) => role !== 'owner'))
    return refuse('validation_failed', 'A token bound to an owner has the role owner only.', {
      errors: [
        { pointer: '/roles', code: 'not_together', detail: 'must be owner when owner_id is given' },
      ],
    });
  const id = keyIdOf('desk', call.idem ?? '');
  const token = mintCredential('trbd', id, deps.ids.base62(SECRET_CHARS));
  const expires_at = expires_in_days === undefined ? undefined : call.at + expires_in_days * DAY_MS;
  const data = {
    token_id: id,
    name,
    roles: [...new Set(roles)],
    ...(owner_id !== undefined && { owner_id }),
    hash: deps.secrets.mac('desk-token', token),
    pepper_version: deps.secrets.pepperVersion,
    ...(expires_at !== undefined && { expires_at }),
  };
  const events = attribute(call, [{ type: 'DeskTokenIssued', data }], deps.ids);
  const result = await deps.log.append(`desk-token_${id}`, NO_STREAM, events);
  if (result.outcome === 'conflict')
    return refuse(
      'state_conflict',
      'This token was issued before and is shown once; issue another.',
    );
  return done(
    {
      id,
      name,
      roles: [...new Set(roles)],
      ...(owner_id !== undefined && { owner_id }),
      status: 'active' as const,
      ...(expires_at !== undefined && { expires_at: iso(expires_at) }),
      token,
    },
    { position: result.position },
  );
};

export const revokeDeskToken: DeskHandler<'revokeDeskToken'> = async (deps, input, call) => {
  const { token_id, reason } = input;
  const row = deps.credentials.deskToken(token_id);
  if (!row) return refuse('resource_not_found', 'There is no such token.');
  const answer = {
    id: token_id,
    name: row.name,
    roles: row.roles as ('owner' | 'staff' | 'auditor' | 'operator')[],
    ...(row.owner_id !== undefined && { owner_id: row.owner_id }),
    status: 'revoked' as const,
  };
  if (row.status === 'revoked') return done(answer);
  const stream = `desk-token_${token_id}`;
  const stored = await deps.log.readStream(stream);
  const events = attribute(
    call,
    [{ type: 'DeskTokenRevoked', data: { token_id, reason } }],
    deps.ids,
  );
  const result = await deps.log.append(stream, stored.length - 1, events);
  // A conflict: somebody revoked it at this moment, which is what was asked.
  return done(answer, result.outcome === 'appended' ? { position: result.position } : {});
};
