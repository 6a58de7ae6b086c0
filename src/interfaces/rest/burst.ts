import type { ServerResponse } from 'node:http';

/** A JSON answer that is ready to leave; `bytes` of its text, in UTF-8. */
export type Leaving = {
  response: ServerResponse;
  status: number;
  /** Names and values in turn. */
  headers: string[];
  text: string;
  bytes: number;
};

export type Burst = (leaving: Leaving) => void;

/** The Request-Id that an answer carries. */
export const requestOf = ({ headers }: Pick<Leaving, 'headers'>): string | undefined =>
  headers[headers.indexOf('request-id') + 1];

const send = ({ response, status, headers, text, bytes }: Leaving): void => {
  headers.push('content-type', 'application/json; charset=utf-8');
  headers.push('content-length', String(bytes));
  // One byte a character goes out without being looked at once more.
  response.writeHead(status, headers).end(text, bytes === text.length ? 'latin1' : 'utf8');
};

/**
 * Sends the answers of one turn of the event loop in one burst: each write wakes its reader, and a
 * reader that is woken between two of them takes the time of the next. One that cannot be sent ends
 * its own connection, and `onFault` is told of it.
 */
export const burst = (onFault: (error: unknown, unsent: Leaving) => void): Burst => {
  let waiting: Leaving[] = [];
  const sendAll = (): void => {
    const all = waiting;
    waiting = [];
    for (const leaving of all)
      try {
        send(leaving);
      } catch (error) {
        leaving.response.destroy();
        onFault(error, leaving);
      }
  };
  return (leaving) => {
    if (waiting.push(leaving) === 1) setImmediate(sendAll);
  };
};
