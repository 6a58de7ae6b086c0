/** The desk without a server: this process opens the data directory, acts, and closes it again. */
import { authenticator } from '#src/app/authenticate.ts';
import { dispatchDesk } from '#src/app/desk/dispatch.ts';
import { deskHandlers } from '#src/app/desk/handlers.ts';
import type { Config } from '#src/config.ts';
import { problemBody } from '#src/interfaces/problem.ts';
import { openService } from '#src/main.ts';
import type { Transport } from './desk-client.ts';
import { tokenIn } from './desk-client.ts';
import { refused } from './problem-text.ts';

export const inProcess = async (config: Config): Promise<Transport> => {
  const service = await openService(config);
  const { deps } = service;
  const found = authenticator(deps).desk(tokenIn(config.dataDirectory));
  const problem = (refusal: Parameters<typeof problemBody>[0], requestId: string) =>
    refused(problemBody(refusal, { origin: deps.origin(), requestId }));
  if (!found.ok) {
    await service.close();
    throw problem(found, deps.ids.uuid());
  }
  return {
    async send(id, input) {
      const requestId = deps.ids.uuid();
      const incoming = { caller: found.value, surface: 'cli' as const, requestId, input };
      const outcome = await dispatchDesk(deps, deskHandlers, id, incoming);
      if (outcome.ok) return outcome.value;
      throw problem(outcome, requestId);
    },
    close: () => service.close(),
  };
};
