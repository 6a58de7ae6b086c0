import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { burst, requestOf } from '#src/interfaces/rest/burst.ts';

it('an answer that cannot be sent takes no other of its turn, and is told of', async () => {
  const told: unknown[] = [];
  const leave = burst((error, unsent) => told.push([error, requestOf(unsent)]));
  const open: [string, ServerResponse][] = [];
  const server = createServer(({ url = '' }, response) => {
    if (open.push([url, response]) < 3) return;
    for (const [path, one] of open.toSorted()) {
      const headers = ['request-id', path, 'x', decodeURI(path).slice(1)];
      leave({ response: one, status: 200, headers, text: '{}', bytes: 2 });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const answers = await Promise.allSettled(
    ['a', '%0A', 'z'].map(async (path) => {
      const answer = await fetch(`http://127.0.0.1:${port}/${path}`);
      return [answer.headers.get('x'), await answer.text()];
    }),
  );
  server.close();
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(answers[2]).toMatchObject({ value: ['z', '{}'] });
  expect(told).toMatchObject([[{ code: 'ERR_INVALID_CHAR' }, '/%0A']]);
});
