/** Whether a Redis may be used at all, and what to look at when it may not. */
import { StartupError } from '#src/ports/startup-error.ts';
import { shownUrl } from './address.ts';
import { type Client, run, script } from './scripts.ts';

const TRIAL_KEYS = ['hash', 'order', 'text'].map((name) => `tributary:{trial}:${name}`);
/** A little of all that is asked of Redis later on. */
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

/** Throws StartupError when the user may not do what is needed. What else fails, waiting may mend. */
export const requireRights = async (client: Client, url: URL): Promise<void> => {
  try {
    await run(client, TRIAL, TRIAL_KEYS);
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    if (!/^NOPERM|ACL failure|user executing the script can't/.test(reason)) return;
    throw new StartupError(
      `Redis at ${shownUrl(url)} lets its user do too little: ${reason}. ${RIGHTS}`,
    );
  }
};

export const RIGHTS =
  'Allow it INFO, PING, EVAL, EVALSHA and the commands of strings, hashes and sorted sets, on keys ' +
  'tributary:* (ACL SETUSER NAME ~tributary:* +info +ping +eval +evalsha +@hash +@sortedset +@string ' +
  '+exists +expire +pexpire +unlink +time +client|setname, +select where the URL names a ' +
  'database, +cluster where it is one).';

type Advice = { what: RegExp; check: string; isFinal: boolean };

/** By what was heard, the first that fits. Waiting mends a server that is starting, and no final one. */
const ADVICE: readonly Advice[] = [
  {
    what: /^(?:WRONGPASS|NOAUTH)|^ERR .*AUTH/,
    check:
      'Check user and password in READ_MODEL_URL (redis://USER:PASSWORD@HOST, percent-encoded).',
    isFinal: true,
  },
  {
    what: /^NOPERM/,
    check:
      'Allow its user INFO, PING, EVAL, EVALSHA and the commands of strings, hashes and sorted sets.',
    isFinal: true,
  },
  {
    what: /self-signed|unable to (?:verify|get)|certificate has expired|certificate is not yet valid/i,
    check:
      'Check its certificate, and tlsCAFile in READ_MODEL_URL: that names the certificate of the ' +
      "authority which signed the server's (rediss://HOST?tlsCAFile=/path/ca.crt).",
    isFinal: true,
  },
  {
    what: /altnames/i,
    check: 'Check the host in READ_MODEL_URL: the certificate of the server is for other names.',
    isFinal: true,
  },
  {
    what: /wrong version number|packet length too long/i,
    check: 'Check the port: it speaks no TLS. Without TLS, READ_MODEL_URL begins with redis://.',
    isFinal: true,
  },
  {
    what: /Unknown RESP type|Protocol error/i,
    check: 'Check host and port in READ_MODEL_URL: what answers there is not Redis.',
    isFinal: true,
  },
  { what: /^ERR/, check: 'Check READ_MODEL_URL, and what the server allows.', isFinal: true },
  {
    what: /ENOTFOUND|EAI_AGAIN/,
    check: 'Check the name of the host in READ_MODEL_URL.',
    isFinal: false,
  },
  {
    what: /(?:)/,
    check:
      'Check READ_MODEL_URL (address, password, rediss:// exactly where the server speaks TLS), that ' +
      'the server runs, and that this machine may connect to it.',
    isFinal: false,
  },
];

const adviceOn = (reason: string): Advice | undefined =>
  ADVICE.find(({ what }) => what.test(reason));

/** Resolves once the client may be asked. Throws StartupError, at the latest after `ms`. */
export const readyWithin = (client: Client, url: URL, ms: number): Promise<void> =>
  new Promise((resolve, reject) => {
    let reason = 'it gives no answer';
    const settle = (): void => {
      clearTimeout(timer);
      // The other listeners stay: the client prints an error that nobody hears.
      client.off('ready', pass);
    };
    const pass = (): void => {
      settle();
      resolve();
    };
    const refuse = (): void => {
      settle();
      const what = `Redis at ${shownUrl(url)} cannot be used for the read models: ${reason}.`;
      reject(new StartupError(`${what} ${adviceOn(reason)?.check ?? ''}`));
    };
    const hear = (error: Error): void => {
      reason = error.message.replaceAll(/\s+/g, ' ').replace(/[.\s]+$/, '');
      if (adviceOn(reason)?.isFinal) refuse();
    };
    const timer = setTimeout(refuse, ms);
    client.on('error', hear);
    client.on('node error', hear);
    client.once('ready', pass);
  });
