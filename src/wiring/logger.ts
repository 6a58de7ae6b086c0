/** Where the lines of a running service go. */
import { type Logger, pino } from 'pino';
import { CREDENTIAL_PATTERN } from '#src/app/pipeline/authenticate.ts';

const CREDENTIALS = new RegExp(CREDENTIAL_PATTERN, 'g');
/** From error on: what comes next may be the end. */
const URGENT = /^\{"level":[56]/;

let waiting = '';
let writing: NodeJS.Immediate | undefined;
let isFirst = true;

const write = (): void => {
  clearImmediate(writing);
  writing = undefined;
  const lines = waiting;
  waiting = '';
  if (lines !== '') process.stderr.write(lines.replaceAll(CREDENTIALS, '[credential]'));
};

/** The lines of one turn are one write: by themselves they would cost more than what they tell of. */
const take = (line: string): void => {
  if (isFirst) process.once('exit', write);
  isFirst = false;
  waiting += line;
  if (URGENT.test(line)) write();
  else writing ??= setImmediate(write);
};

/** JSON lines on stderr, never with a credential in them: the key's own pattern makes that exact. */
export const serviceLogger = (level: string): Logger => pino({ level }, { write: take });

/** Of a command that opens the service in its own process: what goes well, its answer tells. */
export const commandLogger = (level: string): Logger =>
  serviceLogger(level === 'info' ? 'warn' : level);
