import type { FastifyReply, FastifyRequest } from 'fastify';
import { ATTRIBUTION_PARAMETER } from '#contracts/links/attribution-token.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { ProblemCode } from '#contracts/problems.ts';
import type { App } from '#src/registries/app.ts';
import { sendErrorPage, sendRefusal, withRetryAfter } from '#src/web/error-pages.ts';
import { LIST_PARAMETER, linesIn, listValue } from '#src/links/list-address.pages.ts';
import { firstOf, type SentValue, tokensIn } from '#src/links/visitor.pages.ts';
import { addressOf } from './review-view.pages.ts';

const LIST_REFUSALS: Partial<Record<ProblemCode, [number, { title: string; detail: string }]>> = {
  validation_failed: [
    422,
    {
      title: 'The list cannot be read',
      detail: 'Nothing was stored. Go back, load the page again and press “Review” once more.',
    },
  ],
  state_conflict: [
    409,
    {
      title: 'Too many lists',
      detail: `You have made ${LIMITS.LISTS_PER_VISIT_MAX} lists after one click. Use one of them, or follow the promoter’s link again.`,
    },
  ],
  rate_limited: [
    429,
    {
      title: 'Too much at once',
      detail: 'Your network made many lists within a minute. Please try again in a moment.',
    },
  ],
};

/** Makes the list of a landing page's form, and redirects to its review page. */
export const createListRoute =
  ({ holders }: App) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const body = (request.body ?? {}) as Record<string, SentValue>;
    const lines = linesIn(body[LIST_PARAMETER]);
    const once = firstOf(body['once']) ?? '';
    const attribution = tokensIn(body[ATTRIBUTION_PARAMETER]);
    const made = await holders.performAs('createList', {
      caller: { kind: 'holder', token: once },
      surface: 'portal',
      requestId: request.id,
      input: { lines, attribution, once, address: request.ip },
    });
    if (made.ok) return reply.redirect(addressOf(made.value.token, 1), 303);
    // The page of the list says which products are missing.
    if (made.code === 'product_unavailable')
      return reply.redirect(`/list?${LIST_PARAMETER}=${listValue(lines)}`, 303);
    const refused = LIST_REFUSALS[made.code];
    return refused
      ? sendErrorPage(withRetryAfter(reply, made), ...refused)
      : sendRefusal(reply, made);
  };
