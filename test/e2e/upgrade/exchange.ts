/** Requests to a service and their answers, as the upgrade fixtures record them. */
import { untilServed } from '../../support/clients/cli.ts';

export type Asked = {
  method: 'GET' | 'POST' | 'HEAD';
  path: string;
  /** Name of a credential of the recording; none for buyers and visitors. */
  as?: string;
  headers?: Record<string, string>;
  body?: string;
};

export type Answer = { status: number; headers: Record<string, string>; body: string };

export type Exchange = Asked & {
  /** What the request is about, for failures. */
  title: string;
  answer: Answer;
};

/** A write with its first answer, and what the same request was answered at the end of the story. */
export type RecordedWrite = Exchange & { retried: Answer };

export type Recording = {
  /** The commit whose processes wrote the fixture. */
  commit: string;
  publicUrl: string;
  /** Epoch milliseconds at which the last answer arrived. */
  endedAt: number;
  /** Position of the last event when the reads began. */
  position: number;
  /** API keys and desk tokens by name. */
  credentials: Record<string, string>;
  /** Ids of records by name, for requests that a test adds. */
  ids: Record<string, string>;
  writes: RecordedWrite[];
  reads: Exchange[];
};

/** Headers that differ between two requests for the same thing, and those that the recorded commit did not send yet. */
const VOLATILE = new Set([
  'connection',
  'consistency-token',
  'content-length',
  'date',
  'x-content-type-options',
  'keep-alive',
  'link',
  'ratelimit',
  'ratelimit-policy',
  'request-id',
  'transfer-encoding',
  'vary',
]);

export type Send = (asked: Asked, credentials: Record<string, string>) => Promise<Answer>;

/** Header names in lower case, without those that differ from request to request. */
export const comparable = (headers: Iterable<[string, unknown]>): Record<string, string> =>
  Object.fromEntries(
    [...headers]
      .filter(([name, value]) => !VOLATILE.has(name) && value !== undefined)
      .map(([name, value]) => [name, String(value)] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );

/** The headers of a request, with its credential. */
export const requestHeaders = (
  { as, headers, body }: Asked,
  credentials: Record<string, string>,
): Record<string, string> => ({
  'accept-encoding': 'identity',
  ...(as !== undefined && { authorization: `Bearer ${credentials[as] ?? ''}` }),
  ...(body !== undefined && { 'content-type': 'application/json' }),
  ...headers,
});

/** Sends over HTTP to the process that is at `url` at the moment, until the answer is not 503. */
export const overHttp =
  (url: () => string): Send =>
  async (asked, credentials) => {
    const { method, path, body } = asked;
    const request = {
      method,
      headers: requestHeaders(asked, credentials),
      redirect: 'manual',
      ...(body !== undefined && { body }),
    } as const;
    const response = await untilServed(() => fetch(`${url()}${path}`, request));
    const text = await response.text();
    const cookies = response.headers.getSetCookie().join('\n');
    const headers = comparable([
      ...response.headers,
      ...(cookies === '' ? [] : [['set-cookie', cookies] as [string, string]]),
    ]);
    return { status: response.status, headers, body: text };
  };

/** Removes what depends on the moment of a request. */
const masked = (text: string): string =>
  text
    .replaceAll(/"as_of":\{"position":\d+,"at":"[^"]*"\}/g, '"as_of":"AS_OF"')
    .replaceAll(/"at":null,"shown_at":"[^"]*"/g, '"at":null,"shown_at":"NOW"')
    .replaceAll(/"(request_id|requestId|consistencyToken|next_cursor)":"[^"]*"/g, '"$1":"MASKED"')
    // The fixture's commit said whether every stored contact was indexed, as all contacts are now.
    // It said how many events of an erased subject had plain text: none.
    .replaceAll(',"in_clear":0', '')
    .replaceAll(/,"complete":true(?:,"unindexed":0)?\}/g, '}')
    // The rules for clicks have changed since, and what that commit recorded counts as before.
    .replaceAll(/"classifier_version":\d+/g, '"classifier_version":"VERSION"')
    .replaceAll(/"instance":"urn:uuid:[^"]*"/g, '"instance":"MASKED"')
    // What was asked after this question is stored with the next second's calls.
    .replaceAll(/"(last_used_at|last_activity_at)":"[^"]*"/g, '"$1":"MASKED"')
    .replaceAll(/"head":\d+/g, '"head":"HEAD"');

/** The answer to a retry, which must be equal byte for byte but for the id of the request. */
export const retryFacts = ({ status, headers, body }: Answer): object =>
  status < 300 ? answerFacts({ status, headers, body }) : problemFacts(status, body);

const answerFacts = ({ status, headers, body }: Answer): object => ({
  status,
  headers: comparable(Object.entries(headers)),
  body: masked(body),
});

/** Problem texts may be improved; status and code are the contract. */
const problemFacts = (status: number, body: string): object => {
  const { code } = JSON.parse(body) as { code: string };
  return { status, code };
};

/** Of a page, the fields of its forms and the amounts: its words may be improved. */
const pageFacts = (status: number, body: string): object => ({
  status,
  fields: [...body.matchAll(/<input[^>]*\bname="([^"]*)"[^>]*?\bvalue="([^"]*)"/g)].map(
    ([, name, value]) => `${name}=${value}`,
  ),
  // The page of a list now also has the price of its deal, and names of buttons repeat theirs.
  amounts: [
    ...body
      .replaceAll(/<p class="outcome">[^]*?<\/p>|aria-label="[^"]*"/g, '')
      .matchAll(/[£€]\s?[\d.,]*\d/g),
  ].map(([amount]) => amount),
});

/** Members of the connection that say something about this agent; the others describe the service. */
const CONNECTION_FACTS = ['agent', 'key', 'environment', 'granted_scopes', 'review'];

/** What must be in every later version's answer to a read. */
export const readFacts = ({ path }: Asked, answer: Answer): object => {
  const { status, headers, body } = answer;
  if (headers['content-type']?.startsWith('text/html')) return pageFacts(status, body);
  if (status >= 400) return problemFacts(status, body);
  if (!path.endsWith('/connection')) {
    const facts = answerFacts(answer);
    // As values: a later version may answer with more members.
    return headers['content-type']?.includes('json')
      ? { ...facts, body: JSON.parse(masked(body)) }
      : facts;
  }
  const all = JSON.parse(body) as Record<string, unknown>;
  const facts = CONNECTION_FACTS.map((name) => [name, all[name]]);
  return { status, ...Object.fromEntries(facts) };
};
