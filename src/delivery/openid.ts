/** OpenID Connect with the provider that the operator configured: discovery, code flow with PKCE, claims of the account. */
import type { ClientAuth, Configuration } from 'openid-client';
import type {
  OpenIdAccount,
  OpenIdBinding,
  OpenIdProvider,
  OpenIdResult,
} from '#src/ports/openid.ts';

export type OpenIdClient = {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Called with each fault of the provider, for the log. */
  onFault(error: Error): void;
};

/** Loaded with the first sign-in. */
const library = () => import('openid-client');

const TIMEOUT_S = 5;
const SCOPE = 'openid email profile';

const discover = async ({
  issuer,
  clientId,
  clientSecret,
}: OpenIdClient): Promise<Configuration> => {
  const client = await library();
  const server = new URL(issuer);
  const execute = [client.enableNonRepudiationChecks];
  // The settings allow plain HTTP for a provider on this machine alone.
  if (server.protocol === 'http:') execute.push(client.allowInsecureRequests);
  const basic = client.ClientSecretBasic(clientSecret);
  const post = client.ClientSecretPost(clientSecret);
  /** Basic is what a provider expects of a client that registered nothing else. */
  const authenticate: ClientAuth = (metadata, ...request) => {
    const methods = metadata.token_endpoint_auth_methods_supported;
    const isBasic = methods?.includes('client_secret_basic') ?? true;
    return (isBasic ? basic : post)(metadata, ...request);
  };
  return client.discovery(server, clientId, undefined, authenticate, {
    execute,
    timeout: TIMEOUT_S,
  });
};

type Claims = Readonly<Record<string, unknown>>;

const textIn = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** The account of an ID token and of the answer of the userinfo endpoint; the mailbox and its verification are of one of them. */
const accountOf = (
  issuer: string,
  subject: string,
  [token, userInfo]: readonly [Claims, Claims],
): OpenIdAccount => {
  const claims = { ...userInfo, ...token };
  const about = textIn(token['email']) === undefined ? userInfo : token;
  const mailbox = about['email_verified'] === true ? textIn(about['email']) : undefined;
  const name = textIn(claims['name']);
  return {
    issuer,
    subject,
    ...(mailbox !== undefined && { mailbox }),
    ...(name !== undefined && { name }),
    claims,
  };
};

/** Faults of an answer; whatever else is thrown is a fault of the provider, or of the way to it. */
const ANSWER_FAULTS: ReadonlySet<string> = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
]);

const SERVER_ERROR = 500;
/** What a provider answers if it cannot say who it is just now. */
const NOT_NOW: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable']);

/** What the failure of a sign-in means; undefined for one of the provider. */
const refusedBy = async (error: unknown): Promise<OpenIdResult | undefined> => {
  const { AuthorizationResponseError, ClientError, ResponseBodyError } = await library();
  if (error instanceof AuthorizationResponseError)
    return NOT_NOW.has(error.error)
      ? undefined
      : { outcome: 'refused', isDenied: error.error === 'access_denied' };
  if (error instanceof ResponseBodyError)
    return error.error === 'invalid_grant' && error.status < SERVER_ERROR
      ? { outcome: 'refused', isDenied: false }
      : undefined;
  return error instanceof ClientError && ANSWER_FAULTS.has(error.code ?? '')
    ? { outcome: 'refused', isDenied: false }
    : undefined;
};

/** Uses the code of an answer, and reads the account. Throws what the library throws. */
const readAccount = async (
  configuration: Configuration,
  query: string,
  binding: OpenIdBinding,
): Promise<OpenIdAccount> => {
  const client = await library();
  const answer = await client.authorizationCodeGrant(
    configuration,
    new URL(query, binding.redirectUri),
    {
      expectedState: binding.state,
      expectedNonce: binding.nonce,
      pkceCodeVerifier: binding.verifier,
      idTokenExpected: true,
    },
  );
  const token = answer.claims() ?? { sub: '' };
  const userInfo =
    configuration.serverMetadata().userinfo_endpoint === undefined
      ? {}
      : await client.fetchUserInfo(configuration, answer.access_token, token.sub);
  return accountOf(configuration.serverMetadata().issuer, token.sub, [token, userInfo]);
};

/** An error as the log may have it: those of the library have what the provider answered. */
const withoutBody = (error: unknown): Error =>
  new Error(error instanceof Error ? `${error.name}: ${error.message}` : 'unknown fault');

/** Reads the metadata of the provider with the first sign-in, and again after a failure. */
export const openIdProvider = (configured: OpenIdClient): OpenIdProvider => {
  const { issuer, onFault } = configured;
  let discovering: Promise<Configuration> | undefined;
  const discovered = async (): Promise<Configuration> => {
    discovering ??= discover(configured);
    try {
      return await discovering;
    } catch (error) {
      discovering = undefined;
      throw error;
    }
  };

  return {
    issuer,
    async begin({ redirectUri, state, nonce, verifier }) {
      try {
        const client = await library();
        const parameters = {
          redirect_uri: redirectUri,
          scope: SCOPE,
          state,
          nonce,
          code_challenge: await client.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        };
        return client.buildAuthorizationUrl(await discovered(), parameters).href;
      } catch (error) {
        onFault(withoutBody(error));
        return undefined;
      }
    },
    async finish(query, binding) {
      try {
        return {
          outcome: 'account',
          account: await readAccount(await discovered(), query, binding),
        };
      } catch (error) {
        const refused = await refusedBy(error);
        if (refused) return refused;
        onFault(withoutBody(error));
        return { outcome: 'unavailable' };
      }
    },
  };
};
