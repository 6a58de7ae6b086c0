/** The desk token of the machine itself, made at the first start. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UNBOUND_ROLES } from '#contracts/scopes.ts';
import { makeDirectory } from '#src/system/directory.ts';
import { keyIdOf } from '#src/access/keys.ts';
import { type AppDeps, openApp } from '#src/registries/app.ts';
import { authenticator, mintCredential } from '#src/calls/authenticate.ts';
import type { Position } from '#src/ports/event-log.ts';
import type { DeskCaller } from '#src/shared/call.ts';
import { deskIdem, SYSTEM_TOKEN } from '#src/calls/rules.ts';
import { streamOfToken } from '#src/writing/streams.ts';
import { type Config, isRemoteLog } from '#src/config.ts';

const CALLER: DeskCaller = {
  kind: 'desk',
  id: SYSTEM_TOKEN,
  name: 'first start',
  personId: 'system:first-start',
  roles: new Set(['operator'] as const),
};
/** How records, audits and pages name what was done with this token. */
const MACHINE_NAME = 'the machine';
const SECRET_CHARS = 43;
/** A server can deliver an event seconds after the append; until then the token would be refused here. */
const VISIBLE_WAIT_MS = 10_000;

/**
 * Ensures that the data directory has a valid desk token with every role but owner for the command line,
 * readable by this user only. The operation that issues all other tokens issues it once. Processes
 * that share a log derive the same token from its keyring, and one of them issues it.
 */
export const ensureRootToken = async (deps: AppDeps, config: Config): Promise<void> => {
  const { dataDirectory: directory, rootKey } = config;
  const file = join(directory, 'desk.token');
  const stored = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
  // Replaces a token of another log, or a revoked one: the command line could not connect with it.
  if (stored !== '' && authenticator(deps).desk(stored).ok) return;
  const isShared = rootKey !== undefined || isRemoteLog(config);
  const { token, position } = await (isShared
    ? deriveToken(deps)
    : issueToken(deps, deps.ids.uuid()));
  await deps.following.passed(position, VISIBLE_WAIT_MS);
  makeDirectory(directory);
  writeFileSync(file, `${token}\n`, { mode: 0o600 });
};

/** A token, and the position of the event that issued it. */
type IssuedToken = { token: string; position: Position };

const issueToken = async (deps: AppDeps, idempotency_key: string): Promise<IssuedToken> => {
  const outcome = await openApp(deps).desk.performAs('issueDeskToken', {
    caller: CALLER,
    surface: 'cli',
    requestId: deps.ids.uuid(),
    input: { idempotency_key, name: MACHINE_NAME, roles: [...UNBOUND_ROLES] },
  });
  if (!outcome.ok) throw new Error(`the first desk token was refused: ${outcome.detail}`);
  return { token: outcome.value.token, position: outcome.position ?? 0 };
};

/** Returns the first derived token that is not revoked in the log; rows may be lagging. */
const deriveToken = async (deps: AppDeps): Promise<IssuedToken> => {
  const [keys] = deps.secrets.generations('root-token');
  const prefix = keys === 1 ? 'root' : `root-of-${keys}`;
  for (let generation = 0; ; generation += 1) {
    const key = `${prefix}-${generation}`;
    const secret = deps.secrets.mac('root-token', key).slice(0, SECRET_CHARS);
    const id = keyIdOf('desk', deskIdem(CALLER, 'issueDeskToken', key));
    let events = await deps.log.readStream(streamOfToken(id));
    if (events.length === 0) {
      try {
        return await issueToken({ ...deps, ids: { ...deps.ids, base62: () => secret } }, key);
      } catch (error) {
        // Another process may have issued it first.
        events = await deps.log.readStream(streamOfToken(id));
        if (events.length === 0) throw error;
      }
    }
    if (events.some(({ type }) => type === 'DeskTokenRevoked')) continue;
    return { token: mintCredential('trbd', id, secret), position: events.at(-1)?.position ?? 0 };
  }
};
