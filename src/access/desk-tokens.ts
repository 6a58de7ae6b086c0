/** Desk tokens: issued, listed and revoked. */
import type { z } from 'zod';
import type { deskOperations } from '#contracts/registries/desk.ts';
import { DESK } from '#src/calls/audit.ts';
import { lacksOwner, mintCredential } from '#src/calls/authenticate.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';
import { accessScope, type DeskTokenRow } from '#src/ports/rows.ts';
import { pageOf } from '#src/reading/lists.ts';
import { refuseHouseNames } from '#src/shared/house-names.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { personIdOfName } from '#src/shared/person.ts';
import { present } from '#src/shared/json.ts';
import { DAY_MS, iso, renderAsOf } from '#src/shared/time.ts';
import { createOnce, issue, traceOf, changeRecord } from '#src/writing/decide-and-append.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import { streamOfToken } from '#src/writing/streams.ts';
import { deskToken, type DeskTokenState } from './access.decider.ts';
import { keyIdOf } from './keys.ts';
import { lastUsesOfTokens } from './last-uses.ts';

type DeskToken = z.output<(typeof deskOperations)['revokeDeskToken']['output']>;

const SECRET_CHARS = 43;
const NO_PERSON = refuse('validation_failed', 'The name of a person needs a letter.', {
  errors: [{ pointer: '/name', code: 'letter_missing', detail: 'must have a letter or a digit' }],
});
const OWNER_MISSING = refuse(
  'validation_failed',
  'A token with the role owner acts for one owner.',
  {
    errors: [
      {
        pointer: '/owner_id',
        code: 'required',
        detail: 'name the owner, or leave out the role owner',
      },
    ],
  },
);
const NO_TOKEN = refuse('resource_not_found', 'There is no such token.');

const render = ({
  token_id,
  name,
  person_id,
  roles,
  owner_id,
  status,
}: DeskTokenState): DeskToken => ({
  id: token_id,
  name,
  person_id,
  roles: roles as DeskToken['roles'],
  ...present({ owner_id }),
  status,
});

export const issueDeskToken: DeskHandler<'issueDeskToken'> = async (deps, input, call) => {
  const { name, roles, owner_id, expires_in_days } = input;
  const person_id = input.person_id ?? personIdOfName(name);
  if (person_id === undefined) return NO_PERSON;
  if (lacksOwner({ roles, owner_id })) return OWNER_MISSING;
  if (owner_id !== undefined && roles.some((role) => role !== 'owner'))
    return refuse('validation_failed', 'A token bound to an owner has the role owner only.', {
      errors: [
        { pointer: '/roles', code: 'not_together', detail: 'must be owner when owner_id is given' },
      ],
    });
  const reserved =
    owner_id === undefined
      ? undefined
      : refuseHouseNames(deps, { '/owner_id': owner_id, '/name': name });
  if (reserved) return reserved;
  const id = keyIdOf('desk', call.idem ?? '');
  const token = mintCredential('trbd', id, deps.ids.base62(SECRET_CHARS));
  const expires_at = expires_in_days === undefined ? undefined : call.at + expires_in_days * DAY_MS;
  const written = await createOnce(deps, call, {
    stream: streamOfToken(id),
    decider: deskToken,
    command: {
      type: 'IssueToken',
      token: {
        token_id: id,
        name,
        person_id,
        roles: [...new Set(roles)],
        ...present({ owner_id }),
        hash: deps.secrets.mac('desk-token', token),
        ...present({ expires_at }),
      },
    },
  });
  if (!written.ok) return written;
  if (written.replayOf !== undefined)
    return refuse(
      'state_conflict',
      'This token was issued before and is shown once. Issue another.',
    );
  return done(
    {
      ...render(written.state),
      ...(expires_at !== undefined && { expires_at: iso(expires_at) }),
      token,
    },
    traceOf(written),
  );
};

/** All desk tokens or one, also those that are revoked, newest first. */
export const listDeskTokens: DeskHandler<'listDeskTokens'> = async (deps, query) => {
  const { readModels, following } = deps;
  const { token_id: id } = query;
  const scope = accessScope(DESK, 'desk');
  const one = id === undefined ? [] : [await readModels.get<DeskTokenRow>('access', scope, id)];
  const { rows, next_before } =
    id === undefined
      ? await pageOf<DeskTokenRow>(readModels, 'access', { ...query, scope })
      : { rows: one.filter((row) => row !== undefined), next_before: null };
  const lastUse = await lastUsesOfTokens(deps);
  const data = rows.map((row) => ({
    ...render(row),
    ...(row.expires_at !== undefined && { expires_at: iso(row.expires_at) }),
    created_at: iso(row.created_at),
    ...lastUse(row.token_id, row.created_at),
  }));
  return done({ data, next_before, as_of: renderAsOf(following.asOf()) });
};

export const revokeDeskToken: DeskHandler<'revokeDeskToken'> = (deps, { token_id, reason }, call) =>
  changeRecord(deps, call, {
    ownerId: call.ownerId,
    stream: streamOfToken(token_id),
    decider: deskToken,
    command: () => issue({ type: 'RevokeToken' as const, reason }),
    refusal: (rejection) => refuseRejected(rejection, NO_TOKEN),
    render,
  });
