import { type Logger, pino } from 'pino';
import { CREDENTIAL_PATTERN } from '#src/app/pipeline/authenticate.ts';

const CREDENTIALS = new RegExp(CREDENTIAL_PATTERN, 'g');
/** Matches level error and above: the process may end next. */
const URGENT = /^\{"level":[56]/;

let pending = '';
let scheduled: NodeJS.Immediate | undefined;
let isFirst = true;

const flush = (): void => {
  clearImmediate(scheduled);
  scheduled = undefined;
  const lines = pending;
  pending = '';
  if (lines !== '') process.stderr.write(lines.replaceAll(CREDENTIALS, '[credential]'));
};

/** Writes the lines of one turn of the event loop at once: single writes would cost too much. */
const write = (line: string): void => {
  if (isFirst) process.once('exit', flush);
  isFirst = false;
  pending += line;
  if (URGENT.test(line)) flush();
  else scheduled ??= setImmediate(flush);
};

/** Writes JSON lines to stderr, and replaces every credential in them. */
export const serviceLogger = (level: string): Logger => pino({ level }, { write });

/** The logger of a command that opens the service in its process: the answer reports success. */
export const commandLogger = (level: string): Logger =>
  serviceLogger(level === 'info' ? 'warn' : level);
