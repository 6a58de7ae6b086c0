import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from '#src/adapters/system/directory.ts';
import { authenticator, mintCredential } from '#src/app/pipeline/authenticate.ts';
import type { DeskCaller } from '#src/app/pipeline/call.ts';
import { type AppDeps, openApp } from '#src/app/app.ts';
import { deskIdem } from '#src/app/pipeline/desk-rules.ts';
import { keyIdOf } from '#src/app/access/key-id.ts';
import { SYSTEM_TOKEN } from '#src/app/pipeline/desk-rules.ts';
import { type Config, isRemoteLog } from '#src/config.ts';

const CALLER: DeskCaller = {
  kind: 'desk',
  tokenId: SYSTEM_TOKEN,
  name: 'first start',
  roles: new Set(['operator'] as const),
};
const SECRET_CHARS = 43;
const KNOWN_WAIT_MS = 2_000;

/**
 * The first desk token, with every role: issued once, through the command that issues all others,
 * and kept in the data directory for the command line, readable by us alone. Where processes share
 * a root secret it is derived from that, so that all have the same, and one of them issues it.
 */
export const ensureRootToken = async (deps: AppDeps, config: Config): Promise<void> => {
  const { dataDirectory: directory, rootKey } = config;
  const file = join(directory, 'desk.token');
  const kept = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
  // A token of another log, or a revoked one, would leave the command line outside.
  if (kept !== '' && authenticator(deps).desk(kept).ok) return;
  const shared = rootKey !== undefined || isRemoteLog(config);
  const token = shared ? await sharedToken(deps) : await issued(deps, deps.ids.uuid());
  makeDirectory(directory);
  writeFileSync(file, `${token}\n`, { mode: 0o600 });
};

const issued = async (deps: AppDeps, idempotency_key: string): Promise<string> => {
  const outcome = await openApp(deps).desk.performAs('issueDeskToken', {
    caller: CALLER,
    surface: 'cli',
    requestId: deps.ids.uuid(),
    input: { idempotency_key, name: 'root', roles: ['operator', 'staff', 'auditor', 'owner'] },
  });
  if (!outcome.ok) throw new Error(`the first desk token was refused: ${outcome.detail}`);
  return outcome.value.token;
};

/** The first of the derived tokens that nobody revoked, by the log itself: rows may be behind it. */
const sharedToken = async (deps: AppDeps): Promise<string> => {
  for (let generation = 0; ; generation += 1) {
    const key = `root-${generation}`;
    const secret = deps.secrets.mac('root-token', key).slice(0, SECRET_CHARS);
    const id = keyIdOf('desk', deskIdem(CALLER, 'issueDeskToken', key));
    const stream = `desk-token_${id}`;
    let stored = await deps.log.readStream(stream);
    if (stored.length === 0) {
      const derived = { ...deps, ids: { ...deps.ids, base62: () => secret } };
      try {
        return await issued(derived, key);
      } catch (error) {
        // Another process was first, or nobody was: then it stays an error.
        stored = await deps.log.readStream(stream);
        if (stored.length === 0) throw error;
      }
    }
    if (stored.some(({ type }) => type === 'DeskTokenRevoked')) continue;
    await deps.following.passed(stored.at(-1)?.position ?? 0, KNOWN_WAIT_MS);
    return mintCredential('trbd', id, secret);
  }
};
