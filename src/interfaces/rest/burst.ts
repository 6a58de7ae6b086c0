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

/**
 * Sends the answers of one turn of the event loop in one burst: each write wakes its reader, and a
 * reader that is woken between two of them takes the time of the next.
 */
export const burst = (): Burst => {
  let waiting: Leaving[] = [];
  const send = (): void => {
    const leaving = waiting;
    waiting = [];
    for (const { response, status, headers, text, bytes } of leaving) {
      headers.push('content-type', 'application/json; charset=utf-8');
      headers.push('content-length', String(bytes));
      // One byte a character goes out without being looked at once more.
      response.writeHead(status, headers).end(text, bytes === text.length ? 'latin1' : 'utf8');
    }
  };
  return (leaving) => {
    if (waiting.push(leaving) === 1) setImmediate(send);
  };
};
