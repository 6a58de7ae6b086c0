import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, it } from 'vitest';
import { run } from './bench/load.ts';

const server = createServer((_request, response) => response.end('late'));
afterAll(() => void server.close());

it('A sample of the load generator waits for its first answer, which a busy machine gives after the end of the sample', async () => {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const order = { url: `http://127.0.0.1:${port}`, connections: 2, ms: 0, calls: [{ path: '/' }] };
  const sample = await run(order);
  expect(sample).toMatchObject({ answers: 1, failures: 0 });
  expect(sample.perSecond).toBeGreaterThan(0);
});
