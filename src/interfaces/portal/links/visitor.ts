import type { FastifyRequest } from 'fastify';
import type { VisitorOperations } from '#contracts/visitor/index.ts';
import type { App } from '#src/app/app.ts';
import type { Admission } from '#src/app/pipeline/admission.ts';
import type { VisitorCaller } from '#src/app/pipeline/call.ts';
import { Refused } from '#src/app/pipeline/outcome.ts';
import { arrivalOf } from '../../http/arrival.ts';

/** Admits a visitor. Throws a refusal as an error, which the error page answers. */
export const admitVisitor = (
  { visitors }: Pick<App, 'visitors'>,
  request: FastifyRequest,
  id: keyof VisitorOperations,
): Admission<VisitorCaller> => {
  const admitted = visitors.admit(arrivalOf(request, 'portal'), id);
  if (!admitted.ok) throw new Refused(admitted);
  return admitted.value;
};
