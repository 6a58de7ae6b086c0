/** The mailed link to a public application for access, which shows its decision and issues the first key. */
import { LIMITS } from '#contracts/limits.ts';
import type { Secrets } from '#src/ports/system.ts';
import { linkToken } from '#src/sending/mailed-link.ts';
import { DESK } from '#src/calls/audit.ts';
import { streamOf } from '#src/writing/streams.ts';
import { DAY_MS } from '#src/shared/time.ts';

/** How long the link works after the confirmation. */
export const APPLICATION_MS = LIMITS.APPLICATION_DAYS * DAY_MS;

export const applicationStream = (id: string): string => streamOf(DESK, 'application', id);

export const applicationPath = (token: string): string => `/apply/${token}`;

export const linkOfApplication = (secrets: Pick<Secrets, 'mac'>, id: string): string =>
  applicationPath(linkToken(secrets, { subject: id }));
