/** Serves an exported file on this machine, without a log and without keys. */
import { once } from 'node:events';
import { pino } from 'pino';
import { DESK_BASE } from '#contracts/places.ts';
import { systemClock, systemIds } from '#src/system/ids.ts';
import { httpServer } from '#src/web/http.ts';
import { auditFileRoutes } from '#src/interfaces/rest/audit-file-routes.ts';
import { listenAt } from '#src/wiring/listener.ts';
import { openFileOrEnd } from '../desk/desk-of-file.ts';
import { formatCount, print } from '../terminal/output.ts';

const TOKEN_CHARS = 32;

export const openAudit = async (
  path: string,
  { port, json }: { port: number; json?: boolean },
): Promise<void> => {
  const { file, deps } = await openFileOrEnd(path);
  const clock = systemClock();
  const ids = systemIds(clock.now);
  const token = ids.base62(TOKEN_CHARS);
  let url = '';
  const origin = () => url;
  const log = pino({ level: 'silent' });
  const server = httpServer({
    ids,
    clock,
    origin,
    log,
    trustProxy: false,
    onForbidden: () => undefined,
  });
  auditFileRoutes(server, deps, { origin, token });
  url = await listenAt(server, { host: '127.0.0.1', port });
  const { owner, events, up_to, at, sha256, head_sha256 = sha256 } = file.about;
  const example = `${url}${DESK_BASE}/audit/state?owner_id=${owner}`;
  if (json) print(JSON.stringify({ ...file.about, url: url + DESK_BASE, token }));
  else
    print(
      [
        `${path}: ${formatCount(events)} events of ${owner} up to position ${up_to}, ${at ?? 'without a time'}`,
        `  SHA-256 ${head_sha256}; every line is intact`,
        `  curl -H "Authorization: Bearer ${token}" "${example}"`,
        `  tributary audit state --owner ${owner} --file ${path}`,
        'Ctrl-C ends it.',
      ].join('\n'),
    );
  const stopped = new AbortController();
  await Promise.race([
    once(process, 'SIGINT', { signal: stopped.signal }),
    once(process, 'SIGTERM', { signal: stopped.signal }),
  ]);
  stopped.abort();
  await server.close();
  file.close();
};
