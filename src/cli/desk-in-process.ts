/** The desk without a server: this process opens the data directory, acts, and closes it again. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { deskOperations } from '#contracts/desk/index.ts';
import { authenticator } from '#src/app/authenticate.ts';
import { dispatchDesk } from '#src/app/desk/dispatch.ts';
import { deskHandlers } from '#src/app/desk/handlers.ts';
import type { Config } from '#src/config.ts';
import { isRemoteLog } from '#src/config.ts';
import { problemBody } from '#src/interfaces/problem.ts';
import { openForCommand } from '#src/core.ts';
import type { Transport } from './desk-client.ts';
import { tokenIn } from './desk-client.ts';
import { EXIT, Failure } from './exit.ts';
import { refused } from './problem-text.ts';

/** Opens at once where there is a log, else with the first write. A server has one always. */
export const inProcess = async (config: Config): Promise<Transport> =>
  isRemoteLog(config) || existsSync(join(config.dataDirectory, 'log.db'))
    ? opened(config)
    : withFirstWrite(config);

/** Who only looks into a mistyped directory must not find a new service there. */
const withFirstWrite = (config: Config): Transport => {
  let made: Promise<Transport> | undefined;
  return {
    async send(id, input) {
      if (!made && deskOperations[id].kind === 'query')
        throw new Failure(EXIT.cannotStart, `${config.dataDirectory} holds no Tributary data`);
      made ??= opened(config);
      return (await made).send(id, input);
    },
    close: async () => (await made)?.close(),
  };
};

const opened = async (config: Config): Promise<Transport> => {
  const core = await openForCommand(config);
  const { deps } = core;
  const found = authenticator(deps).desk(tokenIn(config.dataDirectory));
  const problem = (refusal: Parameters<typeof problemBody>[0], requestId: string) =>
    refused(problemBody(refusal, { origin: deps.origin(), requestId }));
  if (!found.ok) {
    await core.close();
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
    close: () => core.close(),
  };
};
