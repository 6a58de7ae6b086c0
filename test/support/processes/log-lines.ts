/** Reads the log lines of a process of the service. */
import type { ChildService } from './child-service.ts';

export type LogLine = Record<string, unknown> & { level: number; time: number; msg: string };

/** Returns all lines so far. Throws when one is not JSON with level, time and text. */
export const linesOf = (service: Pick<ChildService, 'log'>): LogLine[] =>
  service
    .log()
    .split('\n')
    .slice(0, -1)
    .map((text) => {
      const line = JSON.parse(text) as LogLine;
      if (typeof line.level !== 'number' || typeof line.time !== 'number' || !line.msg)
        throw new Error(`not a log line: ${text}`);
      return line;
    });

/** Returns the lines with this text and these fields. */
export const linesOn = (
  service: Pick<ChildService, 'log'>,
  msg: string,
  fields: Record<string, unknown> = {},
): LogLine[] =>
  linesOf(service).filter(
    (line) =>
      line.msg === msg && Object.entries(fields).every(([name, value]) => line[name] === value),
  );
