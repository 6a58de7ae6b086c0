import { isLogMark, type LogMark, type MarkPlace } from '#src/stores/log-memory.ts';
import { connect } from './connect.ts';
import { script } from './scripts.ts';
import { urlWithoutSecrets } from './url-options.ts';

/** Outside the keys of any log: says which log this Redis belongs to. */
const KEY = 'tributary:log';

/** ARGV: identity, position and text of a mark. Stores it unless the stored one is newer, or another log's. */
const STORE = script(
  '',
  `local stored = redis.call('HMGET', KEYS[1], 'id', 'position')
  if stored[1] and (stored[1] ~= ARGV[1] or tonumber(stored[2]) > tonumber(ARGV[2])) then return 0 end
  redis.call('HSET', KEYS[1], 'id', ARGV[1], 'position', ARGV[2], 'mark', ARGV[3])
  return 1`,
);

export type RedisMarkOptions = {
  url: URL;
  /** Called once for each outage. */
  onFault?(error: unknown): void;
};

const partsOf = (mark: LogMark): [id: string, position: number, text: string] => [
  mark.id,
  mark.newest?.position ?? 0,
  JSON.stringify(mark),
];

/**
 * The mark that all processes of a Redis share. Throws StartupError within five seconds when the server
 * cannot be used.
 */
export const redisLogMark = async ({
  url,
  onFault = () => {},
}: RedisMarkOptions): Promise<MarkPlace> => {
  const { reads, close } = await connect(url, onFault);
  return {
    name: `Redis at ${urlWithoutSecrets(url)}`,
    isShared: true,
    async load() {
      const text = await reads.hget(KEY, 'mark');
      const mark: unknown = text === null ? undefined : JSON.parse(text);
      return isLogMark(mark) ? mark : undefined;
    },
    store: async (mark) => void (await STORE.run(reads, [KEY], partsOf(mark))),
    async replace(mark) {
      if (!mark) {
        await reads.unlink(KEY);
        return;
      }
      const [id, position, text] = partsOf(mark);
      await reads.hset(KEY, { id, position, mark: text });
    },
    close: async () => close(),
  };
};
