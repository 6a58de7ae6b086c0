/** An OpenID provider of a house, where the test decides who is signed in and what the provider says. */
import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';

export type Claims = Record<string, unknown>;

export type OpenIdWorld = {
  issuer: string;
  /** The claims of each account, by its subject. */
  accounts: Map<string, Claims>;
  /** Whose browser comes next; undefined: somebody who does not allow it. */
  next: { subject: string | undefined };
  /** Changes the claims of ID tokens, which are signed again. */
  lie: { claims?: Claims; isUnsigned?: boolean };
  /** Follows the provider from the address that the service gave until it sends the browser back; returns that address. */
  visit(url: string): Promise<string>;
  /** Stops answering, until `restart`. */
  stop(): Promise<void>;
  restart(): Promise<void>;
  settings: Record<string, string>;
};

const CLIENT = { id: 'tributary', secret: 'a-secret-of-32-characters-or-more' };
export const OTHER_CLIENT = 'another-service';

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const KEY_ID = 'house';

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Signs other claims with the key of the provider. */
const signedAgain = (token: string, claims: Claims): string => {
  const payload = JSON.parse(
    Buffer.from(token.split('.')[1] ?? '', 'base64url').toString(),
  ) as Claims;
  const signed = `${part({ alg: 'RS256', kid: KEY_ID })}.${part({ ...payload, ...claims })}`;
  return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
};

const configuration = (
  { accounts }: Pick<OpenIdWorld, 'accounts'>,
  redirectUri: string,
  provider: () => Provider,
) => ({
  clients: [CLIENT.id, OTHER_CLIENT].map((client_id) => ({
    client_id,
    client_secret: CLIENT.secret,
    redirect_uris: [redirectUri],
  })),
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
  cookies: { keys: ['one'] },
  jwks: {
    keys: [{ ...privateKey.export({ format: 'jwk' }), kid: KEY_ID, alg: 'RS256', use: 'sig' }],
  },
  pkce: { required: () => true },
  features: { devInteractions: { enabled: false } },
  interactions: { url: () => '/interaction' },
  findAccount: (_context: unknown, accountId: string) => ({
    accountId,
    claims: async () => ({ sub: accountId, ...accounts.get(accountId) }),
  }),
  async loadExistingGrant({
    oidc: { client, session },
  }: {
    oidc: { client: { clientId: string }; session: { accountId: string } };
  }) {
    const grant = new (provider().Grant)({
      clientId: client.clientId,
      accountId: session.accountId,
    });
    grant.addOIDCScope('openid email profile');
    await grant.save();
    return grant;
  },
});

/** Follows redirects with cookies, as a browser does, until one leads away from the provider. */
const follow = async (issuer: string, from: string): Promise<string> => {
  const cookies = new Map<string, string>();
  let url = from;
  while (url.startsWith(`${issuer}/`)) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const set of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    const location = answer.headers.get('location');
    if (location === null) throw new Error(`${answer.status} at ${url}: ${await answer.text()}`);
    url = new URL(location, url).href;
  }
  return url;
};

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve) => server.listen(port, 'localhost', resolve));

export const openIdWorld = async (redirectUri: string): Promise<OpenIdWorld> => {
  const server = createServer();
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  const issuer = `http://localhost:${port}`;
  const accounts = new Map<string, Claims>();
  const next: OpenIdWorld['next'] = { subject: undefined };
  const lie: OpenIdWorld['lie'] = {};
  const provider: Provider = new Provider(
    issuer,
    configuration({ accounts }, redirectUri, () => provider),
  );
  provider.use(async (context, then) => {
    await then();
    const token = context.path === '/token' ? context.body.id_token : undefined;
    if (token === undefined) return;
    if (lie.claims) context.body.id_token = signedAgain(token, lie.claims);
    if (lie.isUnsigned) context.body.id_token = `${token.slice(0, -8)}AAAAAAAA`;
  });
  const answer = provider.callback();
  server.on('request', (request, response) => {
    const { subject } = next;
    void (request.url?.startsWith('/interaction')
      ? provider.interactionFinished(
          request,
          response,
          subject === undefined ? { error: 'access_denied' } : { login: { accountId: subject } },
        )
      : answer(request, response));
  });
  return {
    issuer,
    accounts,
    next,
    lie,
    visit: (url) => follow(issuer, url),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
    restart: () => listen(server, port),
    settings: {
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: CLIENT.id,
      OIDC_CLIENT_SECRET: CLIENT.secret,
    },
  };
};
