import type { Scope } from '#contracts/scopes.ts';
import type { LastRequest } from '#src/domain/access.ts';
import { present } from '../shared/present.ts';
import { iso } from '../shared/time.ts';

/** Renders the last request of an agent, with its decision if there is one. */
export const renderRequest = ({ scopes, outcome, ...request }: LastRequest) => ({
  scopes: scopes as Scope[],
  requested_at: iso(request.requested_at),
  outcome,
  ...present({ reason: request.reason }),
  ...(request.decided_at !== undefined && { decided_at: iso(request.decided_at) }),
});
