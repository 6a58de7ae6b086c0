import { once } from 'node:events';
import { createServer } from 'node:net';
import { env, pid } from 'node:process';

/** Linux assigns ports from 32,768 to servers and connections that ask for none: a server that restarts could lose its port. */
const FIRST = 10_000;
const PORTS_EACH = 1_000;
/** Each worker of Vitest has its own ports; two runs on one machine begin at different ones. */
const WORKER = Number(env['VITEST_POOL_ID'] ?? 0) % 10;
let ports = pid;

const isFree = async (port: number): Promise<boolean> => {
  const server = createServer();
  const answer = once(server.listen(port, '127.0.0.1'), 'listening').then(
    () => true,
    () => false,
  );
  if (!(await answer)) return false;
  server.close();
  await once(server, 'close');
  return true;
};

/** Returns a free port of this machine, at most 19,999, which no other worker of this run gets. */
export const freePort = async (): Promise<number> => {
  ports += 1;
  const port = FIRST + WORKER * PORTS_EACH + (ports % PORTS_EACH);
  return (await isFree(port)) ? port : freePort();
};
