/** The wait for Redis at startup, its user's rights, and advice for the operator. */
import { StartupError } from '#src/ports/startup-error.ts';
import { type Client, script } from './scripts.ts';
import { urlWithoutSecrets } from './url-options.ts';

const TRIAL_KEYS = ['hash', 'order', 'text'].map((name) => `tributary:{trial}:${name}`);
/** Uses the commands of the other scripts. */
const TRIAL = script(
  '',
  `redis.call('TIME')
  redis.call('HSET', KEYS[1], 'a', '1')
  redis.call('HMGET', KEYS[1], 'a')
  redis.call('ZADD', KEYS[2], 1, 'a')
  redis.call('ZREVRANGEBYLEX', KEYS[2], '+', '-')
  redis.call('SET', KEYS[3], '1', 'PX', 1000)
  redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
  return 1`,
);

/** Throws StartupError when the user lacks a right. Other failures can be temporary. */
export const requireRights = async (client: Client, url: URL): Promise<void> => {
  try {
    await TRIAL.run(client, TRIAL_KEYS);
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    if (!/^NOPERM|ACL failure|user executing the script can't/.test(reason)) return;
    throw new StartupError(
      `Redis at ${urlWithoutSecrets(url)} denies its user a right: ${reason}. ${RIGHTS}`,
    );
  }
};

export const RIGHTS =
  'Allow it INFO, PING, EVAL, EVALSHA and the commands of strings, hashes and sorted sets, on keys ' +
  'tributary:* (ACL SETUSER NAME ~tributary:* +info +ping +eval +evalsha +@hash +@sortedset +@string ' +
  '+exists +expire +pexpire +unlink +time +client|setname, +select where the URL names a ' +
  'database, +cluster where it is one).';

/** Advice for errors that waiting does not resolve. The first match applies. */
const FINAL_ADVICE: readonly [error: RegExp, advice: string][] = [
  [
    /^(?:WRONGPASS|NOAUTH)|^ERR .*AUTH/,
    'Check user and password in READ_MODEL_URL (redis://USER:PASSWORD@HOST, percent-encoded).',
  ],
  [/^NOPERM/, RIGHTS],
  [
    /self-signed|unable to (?:verify|get)|certificate has expired|certificate is not yet valid/i,
    'Check its certificate, and tlsCAFile in READ_MODEL_URL: that names the certificate of the ' +
      "authority that signed the server's (rediss://HOST?tlsCAFile=/path/ca.crt).",
  ],
  [
    /altnames/i,
    "Check the host in READ_MODEL_URL: the server's certificate was issued for other names.",
  ],
  [
    /wrong version number|packet length too long/i,
    'Check the port: it does not use TLS. Without TLS, READ_MODEL_URL begins with redis://.',
  ],
  [
    /Unknown RESP type|Protocol error/i,
    'Check host and port in READ_MODEL_URL: the server there is not Redis.',
  ],
  [/^ERR/, 'Check READ_MODEL_URL, and what the server permits.'],
];

const finalAdvice = (reason: string): string | undefined =>
  FINAL_ADVICE.find(([error]) => error.test(reason))?.[1];

const adviceOn = (reason: string): string => {
  const advice = finalAdvice(reason);
  if (advice !== undefined) return advice;
  if (/ENOTFOUND|EAI_AGAIN/.test(reason)) return 'Check the name of the host in READ_MODEL_URL.';
  return (
    'Check READ_MODEL_URL (address, password, rediss:// if, and only if, the server uses TLS), that ' +
    'the server runs, and that this machine may connect to it.'
  );
};

/** Resolves when the client is ready. Throws StartupError, at the latest when `over` rejects. */
export const ready = (client: Client, url: URL, over: Promise<never>): Promise<void> =>
  new Promise((resolve, reject) => {
    let reason = 'no answer';
    const settle = (): void => {
      // The error listeners stay: the client prints errors without a listener.
      client.off('ready', onReady);
    };
    const onReady = (): void => {
      settle();
      resolve();
    };
    const refuse = (): void => {
      settle();
      const what = `Redis at ${urlWithoutSecrets(url)} cannot be used for the read models: ${reason}.`;
      reject(new StartupError(`${what} ${adviceOn(reason)}`));
    };
    const onError = (error: Error): void => {
      reason = error.message.replaceAll(/\s+/g, ' ').replace(/[.\s]+$/, '');
      if (finalAdvice(reason) !== undefined) refuse();
    };
    over.catch(refuse);
    client.on('error', onError);
    client.on('node error', onError);
    client.once('ready', onReady);
  });
