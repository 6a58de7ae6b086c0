/** The desk without a server: this process opens the data directory, acts, and closes it again. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DeskOperationId, deskOperations } from '#contracts/registries/desk.ts';
import { authenticator } from '#src/calls/authenticate.ts';
import { SYSTEM_TOKEN } from '#src/calls/rules.ts';
import { type Config, readConfig } from '#src/config.ts';
import { type Core, openForCommand } from '#src/core.ts';
import type { DeskCaller } from '#src/shared/call.ts';
import type { Outcome, Refusal } from '#src/shared/outcome.ts';
import { systemIds } from '#src/system/ids.ts';
import { problemBody } from '#src/web/problem.ts';
import { ensureRootToken } from '#src/wiring/root-token.ts';
import { problemError } from './problem-text.ts';
import { hasLog, noDataError } from './service.ts';
import { commandToken, type Transport } from './transport.ts';

type DeskCall = { id: DeskOperationId; input: Record<string, unknown>; key: string | undefined };

/** A person who can read the files needs no credential to read. */
const READER: DeskCaller = {
  kind: 'desk',
  id: SYSTEM_TOKEN,
  name: 'command line',
  personId: 'system:command-line',
  roles: new Set(['operator', 'staff', 'auditor'] as const),
};

/** Calls the desk of an opened core. The first write issues the first desk token; a read appends nothing. */
const callCore = async (
  { deps, app }: Core,
  { id, input, key }: DeskCall,
  config: Config,
): Promise<unknown> => {
  const requestId = deps.ids.uuid();
  const errorFor = (refusal: Refusal) =>
    problemError(problemBody(refusal, { origin: deps.origin(), requestId }), {
      operation: id,
      key,
    });
  let caller = READER;
  if (deskOperations[id].kind === 'command') {
    await ensureRootToken(deps, config);
    const identified = authenticator(deps).desk(commandToken(config));
    if (!identified.ok) throw errorFor(identified);
    caller = identified.value;
  }
  const incoming = { caller, surface: 'cli' as const, requestId, input };
  const outcome: Outcome<unknown> = await app.desk.performAs(id, incoming);
  if (outcome.ok) return outcome.value;
  throw errorFor(outcome);
};

type Opened = { core: Core; config: Config };

/** Opens a service without data in a directory that is removed when it is closed. */
const openTrial = async (settings: Config): Promise<Opened & { close(): Promise<void> }> => {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'tributary-trial-'));
  const { readModelUrl } = readConfig({});
  const config = { ...settings, dataDirectory, readModelUrl, deskToken: undefined };
  const parts = new AsyncDisposableStack();
  parts.defer(() => rm(dataDirectory, { recursive: true }));
  try {
    const core = await openForCommand(config);
    parts.defer(() => core.close());
    return { core, config, close: () => parts.disposeAsync() };
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
};

/**
 * Opens the data directory now if it has a log, otherwise with the first write: a read of a mistyped
 * directory must not create a service there, and neither must a dry run, which is tried elsewhere.
 */
export const deskInProcess = async (config: Config): Promise<Transport> => {
  let core = hasLog(config) ? await openForCommand(config) : undefined;
  let trial: Awaited<ReturnType<typeof openTrial>> | undefined;
  const openedFor = async (
    id: DeskOperationId,
    input: Record<string, unknown>,
  ): Promise<Opened> => {
    if (core) return { core, config };
    if (deskOperations[id].kind === 'query') throw noDataError(config);
    if (input['dry_run'] === true) return (trial ??= await openTrial(config));
    return { core: (core = await openForCommand(config)), config };
  };
  return {
    async send(id, input, key) {
      const opened = await openedFor(id, input);
      return callCore(opened.core, { id, input, key }, opened.config);
    },
    async close() {
      await trial?.close();
      await core?.close();
    },
  };
};

/** Performs commands of the desk in this process, one after the other, and closes the data directory again. `name`: of their keys. */
export const performInProcess = async (
  config: Config,
  name: string,
  acts: readonly (readonly [id: DeskOperationId, input: object])[],
): Promise<void> => {
  const desk = await deskInProcess(config);
  try {
    for (const [id, input] of acts) {
      const key = `${name}-${systemIds().uuid()}`;
      await desk.send(id, { ...input, idempotency_key: key }, key);
    }
  } finally {
    await desk.close();
  }
};
