import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { deskOperations } from '#contracts/registries/desk.ts';
import { DESK_BASE } from '#contracts/places.ts';
import { askFile, FILE_AUDITS } from '#src/audits/file-desk.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import type { OwnerAuditDeps } from '#src/audits/audit-state.ts';
import { operationRoute } from './routes.ts';

const isEqual = (given: string, token: string): boolean =>
  given.length === token.length && timingSafeEqual(Buffer.from(given), Buffer.from(token));

/** Routes of the audits of a file, at the paths of the desk. Every request needs the token. */
export const auditFileRoutes = (
  server: FastifyInstance,
  deps: OwnerAuditDeps,
  { origin, token }: { origin(): string; token: string },
): void => {
  for (const id of FILE_AUDITS)
    operationRoute(
      server,
      { origin, tokenFor: () => '' },
      {
        base: DESK_BASE,
        bound: {
          operation: deskOperations[id],
          surfaceOf: () => 'desk',
          admit(arrival) {
            if (!isEqual(arrival.credential ?? '', token))
              return refuse(
                'credential_missing',
                'Send Authorization: Bearer <TOKEN>, as the command printed it.',
              );
            const caller = { kind: 'visitor' as const };
            return done({ arrival, caller, headers: {}, isAudited: true });
          },
          perform: ({ arrival: { requestId } }, { input }) =>
            askFile(deps, id, { input, requestId }),
          conclude: () => undefined,
        },
      },
    );
};
