import { once } from 'node:events';
import { connect } from 'node:net';
import { HANG_MS } from '../hang.ts';

export type RawAnswer = { status: number; headers: Record<string, string>; text: string };
export type Exchange = { answers: RawAnswer[]; rest: string };

/** The last request on a connection that is still open: its answer closes the connection. */
const MARKER = 'GET /livez HTTP/1.1\r\nHost: x\r\nX-Marker: 1\r\nConnection: close\r\n\r\n';

const readAnswer = (
  bytes: Buffer,
  hasBody: boolean,
): { answer: RawAnswer; length: number } | undefined => {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const length = end + 4 + (hasBody ? Number(headers['content-length'] ?? 0) : 0);
  if (bytes.length < length) return undefined;
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
  const text = bytes.subarray(end + 4, length).toString('utf8');
  return { answer: { status, headers, text }, length };
};

/** Returns all complete answers in order, and the remaining bytes. */
const readAnswers = (
  bytes: Buffer,
  toHead: readonly number[],
): { answers: RawAnswer[]; rest: string } => {
  const answers: RawAnswer[] = [];
  let left = bytes;
  const read = () => readAnswer(left, !toHead.includes(answers.length));
  for (let next = read(); next; next = read()) {
    answers.push(next.answer);
    left = left.subarray(next.length);
  }
  return { answers, rest: left.toString('latin1') };
};

type Options = {
  /** Answers to wait for before the marker is sent, when the connection is still open. */
  expected?: number;
  /** Sends a byte at this interval until the connection ends. */
  dripEveryMs?: number;
  /** Sent after the answers expected, in place of the marker. */
  then?: string;
  waitMs?: number;
  /** The indices of answers to HEAD, which have a Content-Length and no body. */
  toHead?: readonly number[];
};

/**
 * Writes bytes as they are and reads until the server closes. After the answers expected, a marker
 * request shows whether the server still frames the connection as the client does.
 */
export const exchange = (
  url: string,
  bytes: string | Buffer,
  { expected = 1, dripEveryMs, then = MARKER, waitMs = HANG_MS, toHead = [] }: Options = {},
): Promise<Exchange> => {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let got = Buffer.alloc(0);
    let marked = false;
    const socket = connect({ host: hostname, port: Number(port) });
    const drip = dripEveryMs && setInterval(() => socket.write('a'), dripEveryMs);
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no end after ${waitMs} ms: ${got.toString('latin1').slice(0, 300)}`));
    }, waitMs);
    socket.on('data', (chunk) => {
      got = Buffer.concat([got, chunk]);
      if (marked || dripEveryMs || readAnswers(got, toHead).answers.length < expected) return;
      marked = true;
      socket.write(then);
    });
    // The server can reset the connection after its answer.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearInterval(drip);
      clearTimeout(timer);
      resolve(readAnswers(got, toHead));
    });
    socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  });
};

let halfways = 0;

/** Runs `happens` between the headers and the rest of a request's body; returns the raw answer. */
export const halfway = async (
  url: string,
  path: string,
  key: string,
  payload: object,
  happens: () => Promise<unknown>,
): Promise<string> => {
  const body = JSON.stringify(payload);
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    'A2A-Version: 1.0',
    `Idempotency-Key: halfway-${(halfways += 1)}`,
    `Content-Length: ${body.length}`,
    'Expect: 100-continue',
    'Connection: close',
  ];
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  // Before the first await, because a refusal can close the connection during `happens`.
  const closed = once(socket, 'close');
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 5)}`);
  // The server has read the credential and waits for the body.
  while (!text.includes('100 Continue')) await once(socket, 'data');
  await happens();
  socket.write(body.slice(5));
  await closed;
  return text;
};
