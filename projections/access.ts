import { accessScope } from '#src/ports/rows.ts';
import type { CredentialRow } from './credentials.ts';
import { ACCESS_EVENTS, credentialOf, evolveCredential } from './credentials.ts';
import type { Projection } from './projection.ts';

/** The rows of `credentials`, listed per owner and kind, newest first. */
export const access: Projection<CredentialRow> = {
  name: 'access',
  version: 6,
  handles: ACCESS_EVENTS,
  place(event) {
    const { kind, id } = credentialOf(event);
    return { scope: accessScope(event.owner, kind), key: id };
  },
  evolve: evolveCredential,
  sort: (row) => row.sort,
};
