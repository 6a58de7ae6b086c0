/** Sign-in at the configured OpenID provider. `src/delivery` implements it. */

/** What binds an answer to the browser that asked: the provider gives each back, or is given it with the code. */
export type OpenIdBinding = {
  /** The address of this service to which the provider sends the browser back. */
  redirectUri: string;
  state: string;
  nonce: string;
  /** Of PKCE: only who has it can use the code. */
  verifier: string;
};

/** An account at the provider, as the provider vouches for it. */
export type OpenIdAccount = {
  issuer: string;
  subject: string;
  /** Only if the provider says that the mailbox is verified. */
  mailbox?: string;
  name?: string;
  claims: Readonly<Record<string, unknown>>;
};

/**
 * `refused`: the answer is of another client, browser or attempt, or the provider refuses it. `unavailable`: the provider does
 * not answer, or not as OpenID Connect says; nothing is known of the account.
 */
export type OpenIdResult =
  | { outcome: 'account'; account: OpenIdAccount }
  | { outcome: 'refused'; isDenied: boolean }
  | { outcome: 'unavailable' };

export type OpenIdProvider = {
  readonly issuer: string;
  /** Returns the address of the provider for a browser; undefined if the provider does not answer. */
  begin(binding: OpenIdBinding): Promise<string | undefined>;
  /** Checks the query with which the provider sent the browser back, and asks the provider for the account. */
  finish(query: string, binding: OpenIdBinding): Promise<OpenIdResult>;
};
