import type { FastifyRequest } from 'fastify';
import type { VisitorOperations } from '#contracts/registries/visitors.ts';
import type { App } from '#src/registries/app.ts';
import { Refused } from '#src/shared/outcome.ts';
import type { VisitorRequest } from '#src/calls/visitor-pipeline.ts';

/** A parameter or header; a list if the client sends several. */
export type SentValue = string | string[] | undefined;

/** The first value, so that what a mailer or a visitor appends to an address overrides nothing. */
export const firstOf = (sent: SentValue): string | undefined =>
  Array.isArray(sent) ? sent[0] : sent;

/** More would not fit into an address. */
const TOKENS_MAX = 4;
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** The attribution tokens that are sent, in their order, without what has another form. */
export const tokensIn = (sent: SentValue): string[] =>
  [sent ?? []]
    .flat()
    .slice(0, TOKENS_MAX)
    .filter((token) => TOKEN.test(token));

/** Admits a visitor. Throws a refusal as an error, which the error page answers. */
export const admitVisitor = (
  { visitors }: Pick<App, 'visitors'>,
  request: FastifyRequest,
  id: keyof VisitorOperations,
): VisitorRequest => {
  const refusal = visitors.admit(id);
  if (refusal) throw new Refused(refusal);
  return { surface: 'portal', requestId: request.id };
};
