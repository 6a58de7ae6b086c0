/** The desk without a server: this process opens the data directory, acts, and closes it again. */
import { deskOperations } from '#contracts/desk/index.ts';
import { authenticator } from '#src/app/pipeline/authenticate.ts';
import type { DeskCaller } from '#src/app/pipeline/call.ts';
import { SYSTEM_TOKEN } from '#src/app/pipeline/desk-rules.ts';
import type { Outcome, Refusal } from '#src/app/pipeline/outcome.ts';
import type { Config } from '#src/config.ts';
import { problemBody } from '#src/interfaces/http/problem.ts';
import { openForCommand } from '#src/core.ts';
import { ensureRootToken } from '#src/wiring/root-token.ts';
import { hasLog, noData } from '../service/data-directory.ts';
import { tokenIn, type Transport } from './desk-transport.ts';
import type { Failure } from '../terminal/exit.ts';
import { refused } from '../terminal/problem-text.ts';

/** Opens at once where there is a log, else with the first write. A server has one always. */
export const inProcess = async (config: Config): Promise<Transport> =>
  hasLog(config) ? opened(config) : withFirstWrite(config);

/** Who only looks into a mistyped directory must not find a new service there. */
const withFirstWrite = (config: Config): Transport => {
  let made: Promise<Transport> | undefined;
  return {
    async send(id, input, key) {
      if (!made && deskOperations[id].kind === 'query') throw noData(config);
      made ??= opened(config);
      return (await made).send(id, input, key);
    },
    close: async () => (await made)?.close(),
  };
};

/** Reads need no credential of a person who holds the files. */
const READER: DeskCaller = {
  kind: 'desk',
  tokenId: SYSTEM_TOKEN,
  name: 'command line',
  roles: new Set(['operator', 'staff', 'auditor', 'owner'] as const),
};

const opened = async (config: Config): Promise<Transport> => {
  const core = await openForCommand(config);
  const { deps, app } = core;
  const problem = (refusal: Refusal, requestId: string, key?: unknown): Failure =>
    refused(problemBody(refusal, { origin: deps.origin(), requestId }), key);
  /** The first write issues the first desk token; a look appends nothing. */
  const writer = async (requestId: string): Promise<DeskCaller> => {
    await ensureRootToken(deps, config);
    const found = authenticator(deps).desk(tokenIn(config.dataDirectory));
    if (found.ok) return found.value;
    throw problem(found, requestId);
  };
  return {
    async send(id, input, key) {
      const requestId = deps.ids.uuid();
      const caller = deskOperations[id].kind === 'query' ? READER : await writer(requestId);
      const incoming = { caller, surface: 'cli' as const, requestId, input };
      const outcome: Outcome<unknown> = await app.desk.performAs(id, incoming);
      if (outcome.ok) return outcome.value;
      throw problem(outcome, requestId, key);
    },
    close: () => core.close(),
  };
};
