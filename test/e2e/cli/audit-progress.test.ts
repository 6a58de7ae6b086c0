/** The progress of an audit that folds a long history, and its interruption, against a server that never answers. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { writeServerFile } from '#src/cli/service.ts';
import { ended, start } from '../../support/clients/cli.ts';
import { directories } from '../../support/processes/directories.ts';

const directory = directories('tributary-audit-progress-');
afterAll(() => directory.removeAll());

/** A data directory whose server folds for ever. `looked` resolves when it was asked twice how far it is. */
const foldingServer = async () => {
  const looked = Promise.withResolvers<void>();
  let looks = 0;
  const server = createServer((request, response) => {
    if (request.url === '/livez') response.end(JSON.stringify({ instance: 'fake' }));
    else if (request.url === '/api/desk/v1/audit/progress?owner_id=acme') {
      looks += 1;
      if (looks === 2) looked.resolve();
      response.end(JSON.stringify({ reading: { position: 40, up_to: 100 } }));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const data = directory.fresh();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeServerFile(data, { url, pid: process.pid, instance: 'fake' });
  writeFileSync(join(data, 'desk.token'), 'trbd_none');
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { data, looked: looked.promise, close };
};

describe('An audit of a long history', () => {
  it.each([
    ['state', []],
    ['performance', []],
    ['diff', ['--from', '1']],
  ])(
    'An audit of a long history shows how far %s is when it is interrupted, and prints no result',
    async (verb, flags) => {
      const { data, looked, close } = await foldingServer();
      const child = start(['audit', verb, '--owner', 'acme', ...flags, '--data', data]);
      const end = ended(child);
      await looked;
      child.kill('SIGINT');
      const { stdout, stderr } = await end;
      close();
      expect(stdout).toBe('');
      expect(stderr).toContain(
        'interrupted: history of acme, 40 of 100 positions done. Run the same command again to continue.',
      );
    },
  );
});
