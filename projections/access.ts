import type { CredentialRow } from './credentials.ts';
import { ACCESS_EVENTS, credentialOf, evolveCredential } from './credentials.ts';
import type { Projection } from './projection.ts';

/** The rows of `credentials` once more, listed per owner: newest first, whatever they are. */
export const access: Projection<CredentialRow> = {
  name: 'access',
  version: 3,
  handles: ACCESS_EVENTS,
  place(event) {
    return { scope: event.owner, key: credentialOf(event).id };
  },
  evolve: evolveCredential,
  sort: (row) => row.sort,
};
