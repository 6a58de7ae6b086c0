/** The limits of what anybody can try in order to sign in: each way has its own, by network. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { signInOperations } from '#contracts/people/operations.ts';
import { DEVICE_LOGIN } from '#contracts/places.ts';
import { routesOf } from '../support/source/routes.ts';
import { testApp, type TestApp } from '../support/world/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.close());

type Route = { method: 'GET' | 'POST'; url: string; form?: Record<string, string> };
type Operation = keyof typeof signInOperations;

/** The routes by which somebody tries something, by the operation that each performs. */
const ATTEMPTS: Partial<Record<Operation, Route>> = {
  startSignIn: { method: 'POST', url: '/signin', form: { mailbox: 'nobody@N.example' } },
  useSignIn: { method: 'POST', url: '/signin/:token' },
  enterSignInCode: { method: 'POST', url: '/signin/code', form: { code: '123456' } },
  acceptInvitation: { method: 'POST', url: '/invited/:token' },
  startDeviceLogin: { method: 'POST', url: DEVICE_LOGIN.ask },
  askForPasskey: { method: 'POST', url: '/signin/passkey/ask' },
  usePasskey: { method: 'POST', url: '/signin/passkey', form: { answer: '{}' } },
  askForOpenId: { method: 'GET', url: '/signin/openid' },
  useOpenId: { method: 'GET', url: '/signin/openid/callback' },
};
/** What only shows something: pages, and the state of what a credential of 128 bits names. */
const SHOWN: readonly Route[] = [
  { method: 'GET', url: '/login' },
  { method: 'GET', url: '/signin' },
  { method: 'GET', url: '/signin/code' },
  { method: 'GET', url: '/signin/passkey' },
  { method: 'GET', url: '/signin/:token' },
  { method: 'GET', url: '/invited/:token' },
  { method: 'POST', url: DEVICE_LOGIN.token },
];
const VIEWS: readonly Operation[] = ['readSignIn', 'readInvitation', 'pollDeviceLogin'];

let sent = 0;
let networks = 0;
const newNetwork = (): string => {
  networks += 1;
  return `198.51.${networks}.7`;
};
const attempt = async ({ method, url, form }: Route, remoteAddress: string) => {
  const isForm = url !== DEVICE_LOGIN.ask;
  return app.send({
    method,
    url: url.replace(':token', `sgn_${'x'.repeat(24)}.${'y'.repeat(43)}`),
    remoteAddress,
    ...(method === 'POST' &&
      (isForm
        ? {
            headers: { 'content-type': 'application/x-www-form-urlencoded' },
            // A mailbox has a limit of its own.
            payload: new URLSearchParams(form).toString().replace('%40N', `%40n${(sent += 1)}`),
          }
        : { payload: { device: 'a' } })),
  });
};
const attempts = (route: Route, remoteAddress: string, times: number) =>
  Promise.all(
    Array.from({ length: times }, async () => (await attempt(route, remoteAddress)).status),
  );

describe('A way to sign in', () => {
  it('Every route of a sign-in either shows something or is a way that is limited', async () => {
    const served = (await routesOf(app.service.server))
      .filter(
        ({ path }) =>
          /^\/(?:login|signin|invited)(?:\/|$)/.test(path) || path.startsWith(DEVICE_LOGIN.ask),
      )
      .flatMap(({ methods, path }) =>
        methods.flatMap((method) => (method === 'HEAD' ? [] : [`${method} ${path}`])),
      );
    const known = [...Object.values(ATTEMPTS), ...SHOWN].map(
      ({ method, url }) => `${method} ${url.replace(':token', 'a1B2')}`,
    );
    expect(served.toSorted()).toEqual(known.toSorted());
    expect([...Object.keys(ATTEMPTS), ...VIEWS].toSorted()).toEqual(
      Object.keys(signInOperations).toSorted(),
    );
  });

  it.each(Object.entries(ATTEMPTS))(
    '%s is refused beyond the limit of a network, with the time to wait, and for that network and way alone',
    async (way, route) => {
      const network = newNetwork();
      const within = await attempts(route, network, LIMITS.SIGN_INS_PER_NETWORK_PER_HOUR);
      expect(within).not.toContain(429);
      const refused = await attempt(route, network);
      expect(refused.status, refused.text).toBe(429);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      for (const [other, elsewhere] of Object.entries(ATTEMPTS))
        if (other !== way) expect((await attempt(elsewhere, network)).status, other).not.toBe(429);
      expect((await attempt(route, newNetwork())).status).not.toBe(429);
    },
    120_000,
  );

  it('Links to one mailbox are limited from whatever networks they are asked for, in whatever spelling', async () => {
    const ask = (mailbox: string) =>
      attempt({ method: 'POST', url: '/signin', form: { mailbox } }, newNetwork());
    const spelled = ['ada@many.example', 'ADA@many.example', ' ada@MANY.example '];
    const statuses = [];
    for (let times = 0; times <= LIMITS.SIGN_IN_LINKS_PER_HOUR; times += 1)
      statuses.push((await ask(spelled[times % 3] ?? '')).status);
    expect(statuses.slice(0, -1)).not.toContain(429);
    expect(statuses.at(-1)).toBe(429);
    expect((await ask('bob@many.example')).status).toBe(303);
  }, 60_000);
});
