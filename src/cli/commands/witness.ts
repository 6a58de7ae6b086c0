/** A witness of other services' logs, and the change of a notary's own key. */
import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CommonOptions, configFor } from '#src/cli/options.ts';
import { CommandError, EXIT, print, printResult } from '#src/cli/terminal.ts';
import {
  NotAKey,
  newSigningKey,
  newWitnessKey,
  openSigner,
  openVerifier,
  type Signer,
  signingKeyOf,
} from '#src/proof/note.ts';
import { addCheckpoint, type WitnessAnswer } from '#src/proof/witnesses.ts';
import { replaceFile } from '#src/system/directory.ts';
import { openEventLog } from '#src/wiring/event-log.ts';
import { commandLogger } from '#src/wiring/logger.ts';
import { openSecrets } from '#src/wiring/vault.ts';

const orUsageError = <Found>(what: string, read: () => Found): Found => {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof NotAKey || error instanceof SyntaxError)) throw error;
    throw new CommandError(EXIT.usage, `${what} cannot be used: ${error.message}`);
  }
};

/** The file of a witness: its private key, and the newest checkpoint that it cosigned of each origin. */
type WitnessFile = { key: string; checkpoints: Record<string, string> };

const BODY_BYTES_MAX = 65_536;

const bodyOf = async (request: IncomingMessage): Promise<string | undefined> => {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    parts.push(part);
    bytes += part.length;
    if (bytes > BODY_BYTES_MAX) return undefined;
  }
  return Buffer.concat(parts).toString();
};

const NONE: WitnessAnswer = { status: 404, body: 'Post to /add-checkpoint.\n' };

/** A server that cosigns checkpoints of these logs, with what it keeps in a file. */
export const witnessServer = (path: string, logKeys: readonly string[]) => {
  const stored = orUsageError(path, () => JSON.parse(readFileSync(path, 'utf8')) as WitnessFile);
  const logs = logKeys.map((key) => orUsageError(key, () => openVerifier(key)));
  const deps = {
    signer: orUsageError(path, () => openSigner(stored.key)),
    logs,
    memory: {
      load: (origin: string) => stored.checkpoints[origin],
      save(origin: string, note: string) {
        stored.checkpoints[origin] = note;
        replaceFile(path, `${JSON.stringify(stored)}\n`);
      },
    },
    now: Date.now,
  };
  const shown = (url: string): WitnessAnswer => {
    const origin = Object.keys(stored.checkpoints).find(
      (each) => url === `/${hash('sha256', each)}/checkpoint`,
    );
    return origin === undefined ? NONE : { status: 200, body: stored.checkpoints[origin] ?? '' };
  };
  const answerTo = async (request: IncomingMessage): Promise<WitnessAnswer> => {
    const { method, url = '' } = request;
    if (method === 'GET') return shown(url);
    if (method !== 'POST' || url !== '/add-checkpoint') return NONE;
    const body = await bodyOf(request);
    return body === undefined ? { status: 413, body: '' } : addCheckpoint(deps, body);
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const failed: WitnessAnswer = { status: 503, body: 'The checkpoint cannot be stored.\n' };
    const {
      status,
      body,
      type = 'text/plain; charset=utf-8',
    } = await answerTo(request).catch(() => failed);
    response.writeHead(status, { 'content-type': type }).end(body);
  };
  const server = createServer((request, response) => void answer(request, response));
  return { server, key: deps.signer.text };
};

type WitnessOptions = { name: string; log: string[]; port: number; host: string };

/** Runs a witness until it is stopped. */
export const runWitness = async (path: string, options: WitnessOptions): Promise<void> => {
  const { name, log, port, host } = options;
  if (!existsSync(path)) {
    const file: WitnessFile = {
      key: orUsageError('--name', () => newWitnessKey(name)),
      checkpoints: {},
    };
    replaceFile(path, `${JSON.stringify(file)}\n`);
  }
  const { server, key } = witnessServer(path, log);
  await new Promise<void>((done, fail) => {
    server.once('error', (error) => fail(new CommandError(EXIT.cannotStart, error.message)));
    server.listen(port, host, done);
  });
  const { port: used } = server.address() as AddressInfo;
  print(`The witness listens on http://${host}:${used}\nWITNESSES="http://${host}:${used} ${key}"`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => server.close());
};

type RotateOptions = CommonOptions & { endOthers?: boolean };

/** The keys that sign now, the newest one first: of the file, or the one of the keyring. */
const presentKeys = async (
  path: string,
  options: CommonOptions,
): Promise<[{ text: string; signer: Signer }, ...{ text: string; signer: Signer }[]]> => {
  const texts = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
  const [first, ...others] = texts.map((text) => ({
    text,
    signer: orUsageError(path, () => openSigner(text)),
  }));
  if (first) return [first, ...others];
  const config = configFor(options);
  const { log, close } = await openEventLog(config, {
    logger: commandLogger(config.logLevel),
    directory: 'inspect',
    checkedAtOpen: 0,
  });
  try {
    const { notarySeed } = await openSecrets(config, log);
    const text = signingKeyOf(`tributary/${log.id}`, notarySeed);
    return [{ text, signer: openSigner(text) }];
  } finally {
    await close();
  }
};

/** Puts a new key before the present ones, which sign as well until --end-others. */
export const rotateNotary = async (options: RotateOptions): Promise<void> => {
  const { notaryKey: path } = configFor(options);
  if (path === undefined)
    throw new CommandError(
      EXIT.usage,
      'NOTARY_KEY is not set: set it to a file outside the data directory, which this command writes',
    );
  const present = await presentKeys(path, options);
  const [newest] = present;
  const { name } = newest.signer;
  const fresh = newSigningKey(name);
  const kept = options.endOthers ? [newest.text] : [fresh, ...present.map(({ text }) => text)];
  replaceFile(path, `${kept.join('\n')}\n`);
  const keys = kept.map((text) => openSigner(text).text);
  printResult(
    options,
    { keys },
    `Checkpoints are signed with, from the next start:\n${keys.join('\n')}\n` +
      (options.endOthers
        ? 'Former keys sign no more.'
        : 'Give the first to those who verify; when all have it, run this with --end-others.'),
  );
};
