import type { Caller, Surface } from './call.ts';

/** Budgets of calls, by their names in the RateLimit headers. A redirect has no limit; only overload refuses it. */
export type Budget = 'read' | 'write' | 'outreach' | 'buyer' | 'redirect';

/** What an interface knows of a request before its body is read. */
export type Arrival = {
  surface: Surface;
  requestId: string;
  /** A bearer token, or the token of a review link; undefined when none was presented. */
  credential: string | undefined;
  /** The client's address. Counts refused credentials; never stored. */
  address: string;
};

/** A request whose caller is known and within its limits. */
export type Admission<C extends Caller> = {
  readonly arrival: Arrival;
  caller: C;
  /** Headers of the answer: what is left of the budget, and when the key ends. */
  headers: Readonly<Record<string, string>>;
  /** Whether an audit record of the request has been made; each request has at most one. */
  isAudited: boolean;
  /** Whether the credential was looked up again after the body; the next perform does not repeat it. */
  isConfirmed: boolean;
};
