/** The services that a person is signed in at from this machine, in a file of their own, and which one a command acts on. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { readConfig } from '#src/config.ts';
import { closestName } from '#src/shared/closest-name.ts';
import { isOpenToOthers, makeDirectory } from '#src/system/directory.ts';
import { anywhere, type CommonOptions, configFor, LOGIN } from './options.ts';
import { hasService } from './service.ts';
import { CommandError, EXIT } from './terminal.ts';

/** A login at a service. */
export type Login = {
  name: string;
  url: string;
  token: string;
  /** Who signed in. */
  person: string;
  expires_at: string;
};

/** Where a command acts in place of a data directory. */
export type Remote = {
  url: string;
  token: string;
  /** Absent with DESK_TOKEN. */
  login?: Login;
  /** Whether nothing on the command line says so. */
  isImplied?: true;
};

const stored = z.strictObject({
  url: z.string(),
  token: z.string(),
  person: z.string(),
  expires_at: z.string(),
});
const shape = z.strictObject({
  current: z.string().nullable(),
  contexts: z.record(z.string(), stored),
});

export type Contexts = { current: string | undefined; logins: readonly Login[] };

export const contextsFile = (): string =>
  join(readConfig().configHome ?? join(homedir(), '.config'), 'tributary', 'contexts.json');

const refuseFile = (text: string): CommandError =>
  new CommandError(EXIT.cannotStart, `${contextsFile()} ${text}`);

/** Reads the logins of this machine. Throws CommandError if the file is damaged, or if others could have read the tokens. */
export const readContexts = (): Contexts => {
  const file = contextsFile();
  if (!existsSync(file)) return { current: undefined, logins: [] };
  if (isOpenToOthers(file))
    throw refuseFile(
      'has your tokens, and other users of this machine may read it: chmod 600 it. If somebody has, end the logins ' +
        'on the page /me of each service.',
    );
  try {
    const { current, contexts } = shape.parse(JSON.parse(readFileSync(file, 'utf8')));
    const logins = Object.entries(contexts).map(([name, login]) => ({ name, ...login }));
    return { current: current ?? undefined, logins };
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== undefined) throw error;
    throw refuseFile(`is damaged. Remove it, and sign in again: ${LOGIN}`);
  }
};

/** Stores the logins, all or nothing, readable by this user only. */
export const writeContexts = ({ current, logins }: Contexts): void => {
  const file = contextsFile();
  const contexts = Object.fromEntries(logins.map(({ name, ...login }) => [name, login]));
  makeDirectory(join(file, '..'));
  const written = `${file}.${process.pid}`;
  writeFileSync(written, `${JSON.stringify({ current: current ?? null, contexts }, null, 2)}\n`, {
    mode: 0o600,
  });
  renameSync(written, file);
};

const NAME = /^[\w.:@[\]-]{1,100}$/;

/** Reads the name of a new login. */
export const contextName = (text: string): string => {
  if (NAME.test(text)) return text;
  throw new CommandError(
    EXIT.usage,
    `"${text}" cannot be the name of a context: use up to 100 letters, digits and . : @ _ -`,
  );
};

/** Returns the login of a name. Throws CommandError with the name that was meant. */
const loginNamed = (name: string, { logins }: Contexts = readContexts()): Login => {
  const found = logins.find((login) => login.name === name);
  if (found) return found;
  const names = logins.map((login) => login.name);
  const closest = closestName(name, names);
  const known =
    names.length === 0
      ? `You are not signed in anywhere: ${LOGIN}`
      : `There are ${names.join(', ')}.`;
  const meant = closest === undefined ? '' : ` Did you mean ${closest}?`;
  throw new CommandError(EXIT.usage, `There is no context "${name}".${meant} ${known}`);
};

const LOCAL = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** Whether a URL is that of this machine, where a request does not cross a network. */
export const isLocal = (url: string): boolean => LOCAL.test(new URL(url).hostname);

const HAS_SCHEME = /^[a-z][a-z\d+.-]*:\/\//i;

/** Reads the address of a service: its origin. Throws CommandError for one to which a token must not be sent. */
export const serviceUrl = (text: string): string => {
  const typed = text.trim();
  const url = URL.parse(HAS_SCHEME.test(typed) ? typed : `https://${typed}`) ?? undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new CommandError(
      EXIT.usage,
      'The address of a service is like https://shop.example, without a user and a password.',
    );
  if (!HAS_SCHEME.test(typed) && LOCAL.test(url.hostname)) return `http://${url.host}`;
  if (url.protocol === 'http:' && !LOCAL.test(url.hostname))
    throw new CommandError(
      EXIT.usage,
      `http://${url.host} is not encrypted: others on the way could read your token and act as you. Use https://${url.hostname}.`,
    );
  return url.origin;
};

export const remoteOf = (login: Login): Remote => ({
  url: serviceUrl(login.url),
  token: login.token,
  login,
});

const loginAt = (url: string): Login => {
  const { current, logins } = readContexts();
  const there = logins.filter((login) => login.url === url);
  const login = there.find(({ name }) => name === current) ?? there.at(-1);
  if (login) return login;
  throw new CommandError(
    EXIT.refused,
    `You are not signed in at ${url}: ${anywhere(`login ${url}`)}`,
    {
      code: 'credential_missing',
      detail: `no login at ${url}`,
    },
  );
};

const NOWHERE = new CommandError(
  EXIT.refused,
  `You are not signed in, or no context is the current one: ${LOGIN}, or ${anywhere('context use NAME')}`,
);

/** The login that a command names, or the current one. Throws CommandError if there is none. */
export const loginOf = ({ context, url }: Pick<CommonOptions, 'context' | 'url'>): Login => {
  if (context !== undefined) return loginNamed(context);
  if (url !== undefined) return loginAt(serviceUrl(url));
  const login = currentLogin();
  if (login) return login;
  throw NOWHERE;
};

/** The login that a command without flags acts with where there is no data directory. */
const currentLogin = (): Login | undefined => {
  const contexts = readContexts();
  return contexts.current === undefined ? undefined : loginNamed(contexts.current, contexts);
};

/**
 * Finds where a command acts: with --url or --context at that service; otherwise on the data directory that --data or DATA_DIR
 * names, or that is here; otherwise with the current login. Undefined: on the data directory.
 */
export const remoteFor = (options: CommonOptions): Remote | undefined => {
  const { data, url, context, file } = options;
  const given = Object.entries({ data, url, context }).filter(([, value]) => value !== undefined);
  if (given.length > 1)
    throw new CommandError(
      EXIT.usage,
      `${given.map(([name]) => `--${name}`).join(' and ')} say where to act: give one of them.`,
    );
  const config = configFor(options);
  if (url !== undefined && config.deskToken !== undefined)
    return { url: serviceUrl(url), token: config.deskToken };
  if (context !== undefined || url !== undefined) return remoteOf(loginOf(options));
  // DESK_TOKEN is of the service whose data directory is here: it is sent to no other one.
  const isHere =
    file !== undefined || data !== undefined || config.isDataNamed || hasService(config);
  const login = isHere || config.deskToken !== undefined ? undefined : currentLogin();
  return login && { ...remoteOf(login), isImplied: true };
};
