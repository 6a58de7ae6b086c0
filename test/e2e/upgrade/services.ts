/** How services of any version are set up, and when they have done their work. */
import { setTimeout as pause } from 'node:timers/promises';
import type { ChildService } from '../../support/processes/child-service.ts';
import { until, untilServed } from '../../support/clients/cli.ts';

export const PUBLIC_URL = 'https://t.example';
/** Of the fixtures on servers; the embedded one has a `root.key`. */
export const ROOT_KEY = Buffer.alloc(32, 9).toString('base64');

/** A process sums the visits of a minute. */
const SUMMED_SECONDS_MAX = 90;

type Status = { data: { lag_events: number }[] };

/** Answers a read at the desk as JSON, which is not a 503. */
export const readDesk = async <T>(
  { url, deskToken }: Pick<ChildService, 'url' | 'deskToken'>,
  path: string,
): Promise<T> => {
  const headers = { authorization: `Bearer ${deskToken}` };
  const answer = await untilServed(() => fetch(`${url}/api/desk/v1${path}`, { headers }));
  return (await answer.json()) as T;
};

/** Resolves when every read model has folded the log. Throws when that takes too long. */
export const folded = async (service: ChildService): Promise<void> => {
  const isFolded = async (): Promise<boolean> => {
    const { data } = await readDesk<Status>(service, '/projections');
    return data.every(({ lag_events }) => lag_events === 0);
  };
  if (!(await until(isFolded))) throw new Error('the read models lag');
};

/** Resolves when the outreach request has this status. Throws when that takes too long. */
export const reached = async (
  service: ChildService,
  request: string,
  status: string,
): Promise<void> => {
  type Shown = { request?: { status: string } };
  let seen: string | undefined;
  const isReached = async (): Promise<boolean> => {
    seen = (await readDesk<Shown>(service, `/approvals/${request}`)).request?.status;
    return seen === status;
  };
  if (!(await until(isReached))) throw new Error(`${request} is ${seen} and not ${status}`);
};

/** Resolves when the log has an event of each of these types. Throws when that takes too long. */
export const happened = async (service: ChildService, types: readonly string[]): Promise<void> => {
  type Page = { data: { type: string; position: number }[] };
  const waited = new Set(types);
  let after = 0;
  const haveHappened = async (): Promise<boolean> => {
    const { data } = await readDesk<Page>(service, `/events?after=${after}&limit=1000`);
    for (const { type } of data) waited.delete(type);
    after = data.at(-1)?.position ?? after;
    return waited.size === 0;
  };
  if (!(await until(haveHappened))) throw new Error(`did not happen: ${[...waited].join(', ')}`);
};

/** Resolves when the visits beyond the limit of one address are summed. Throws when that takes too long. */
export const summed = async ({ url }: Pick<ChildService, 'url'>, apiKey: string): Promise<void> => {
  const headers = { authorization: `Bearer ${apiKey}` };
  const path = '/api/affiliate/v1/performance?granularity=total';
  for (let second = 0; second < SUMMED_SECONDS_MAX; second += 1) {
    const answer = await (await fetch(`${url}${path}`, { headers })).json();
    const { totals } = answer as { totals?: { clicks_surplus?: number } };
    if (totals?.clicks_surplus) return;
    await pause(1_000);
  }
  throw new Error('the visits were not summed');
};
