import { connect } from 'node:net';

export type RawAnswer = { status: number; headers: Record<string, string>; text: string };
export type Exchange = { answers: RawAnswer[]; rest: string; ms: number };

/** Asked last on a connection that is still open: it must be answered in its turn, and close. */
const MARKER = 'GET /livez HTTP/1.1\r\nHost: x\r\nX-Marker: 1\r\nConnection: close\r\n\r\n';

const readAnswer = (bytes: Buffer): { answer: RawAnswer; length: number } | undefined => {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const length = end + 4 + Number(headers['content-length'] ?? 0);
  if (bytes.length < length) return undefined;
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
  const text = bytes.subarray(end + 4, length).toString('utf8');
  return { answer: { status, headers, text }, length };
};

/** All complete answers in order, and what is left over. */
const readAnswers = (bytes: Buffer): { answers: RawAnswer[]; rest: string } => {
  const answers: RawAnswer[] = [];
  let left = bytes;
  for (let next = readAnswer(left); next; next = readAnswer(left)) {
    answers.push(next.answer);
    left = left.subarray(next.length);
  }
  return { answers, rest: left.toString('latin1') };
};

type Options = {
  /** Answers to wait for before the marker is sent, when the connection is still open. */
  expected?: number;
  /** Sends a byte so often, for ever: a client that never ends. */
  dripEveryMs?: number;
  /** Sent after the answers expected, in place of the marker. */
  then?: string;
  waitMs?: number;
};

/**
 * Writes bytes as they are and reads until the server closes. After the answers expected, a marker
 * request shows whether the server still frames the connection as the client does.
 */
export const exchange = (
  url: string,
  bytes: string | Buffer,
  { expected = 1, dripEveryMs, then = MARKER, waitMs = 5_000 }: Options = {},
): Promise<Exchange> => {
  const { hostname, port } = new URL(url);
  const started = performance.now();
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
      if (marked || dripEveryMs || readAnswers(got).answers.length < expected) return;
      marked = true;
      socket.write(then);
    });
    // A reset after the answer is how a server drops what it will not read.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearInterval(drip);
      clearTimeout(timer);
      resolve({ ...readAnswers(got), ms: performance.now() - started });
    });
    socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  });
};
