import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from '#src/adapters/system/directory.ts';
import { authenticator } from '#src/app/authenticate.ts';
import type { DeskCaller } from '#src/app/call.ts';
import { dispatchDesk } from '#src/app/desk/dispatch.ts';
import { deskHandlers } from '#src/app/desk/handlers.ts';
import type { DeskDeps } from '#src/app/desk/handler.ts';

/**
 * The first desk token, with every role: issued once, through the command that issues all others,
 * and kept in the data directory for the command line, readable by us alone.
 */
export const ensureRootToken = async (deps: DeskDeps, directory: string): Promise<void> => {
  const file = join(directory, 'desk.token');
  const kept = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
  // A token of another log, or a revoked one, would leave the command line outside.
  if (kept !== '' && authenticator(deps).desk(kept).ok) return;
  const caller: DeskCaller = {
    kind: 'desk',
    tokenId: 'system',
    name: 'first start',
    roles: new Set(['operator'] as const),
  };
  const outcome = await dispatchDesk(deps, deskHandlers, 'issueDeskToken', {
    caller,
    surface: 'cli',
    requestId: deps.ids.uuid(),
    input: {
      idempotency_key: deps.ids.uuid(),
      name: 'root',
      roles: ['operator', 'staff', 'auditor', 'owner'],
    },
  });
  if (!outcome.ok) throw new Error(`the first desk token was refused: ${outcome.detail}`);
  makeDirectory(directory);
  writeFileSync(file, `${(outcome.value as { token: string }).token}\n`, { mode: 0o600 });
};
