import type { FastifyInstance } from 'fastify';
import type { App } from '#src/app/app.ts';
import { requestPath } from '#src/app/handoffs/review-token.ts';
import { sendErrorPage, sendRefusal, withRetryAfter } from '../layout/error-pages.ts';
import { sendPage } from '../layout/layout.ts';
import { admitBuyers, type BuyerAdmission, type ByToken, TOO_OFTEN } from './buyer-admission.ts';
import { requestPage } from './request-page.ts';
import { fieldsOf, pageIn, revisionOf } from './review-form-fields.ts';

/** The operation of each button, by the last segment of its path. */
const BUTTONS = {
  confirm: 'confirmRequest',
  withdraw: 'withdrawRequest',
  'not-me': 'disownRequest',
} as const;

type Button = keyof typeof BUTTONS;

/** The pages behind the link that a buyer gets by mail. GET changes nothing, because mail scanners follow links. */
export const requestRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  const { buyers } = app;
  const admissions = await admitBuyers(scope, app, {
    buttons: BUTTONS,
    otherwise: 'readRequest',
  });

  scope.get<ByToken>('/:token', async (request, reply) => {
    const shown = await buyers.perform(admissions.of(request), 'readRequest', { input: {} });
    if (!shown.ok) return sendRefusal(reply, shown);
    const page = pageIn((request.query as { page?: unknown }).page);
    return sendPage(reply, 200, requestPage(shown.value, { token: request.params.token, page }));
  });

  const perform = (admission: BuyerAdmission, button: Button, body: unknown) =>
    button === 'confirm'
      ? buyers.perform(admission, 'confirmRequest', {
          input: { list_revision: revisionOf(fieldsOf(body)) },
        })
      : buyers.perform(admission, BUTTONS[button], { input: {} });

  for (const button of Object.keys(BUTTONS) as Button[]) {
    // Reloading the page of a refused form shows the request.
    scope.get<ByToken>(`/:token/${button}`, async ({ params }, reply) =>
      reply.redirect(requestPath(encodeURIComponent(params.token)), 303),
    );
    scope.post<ByToken>(`/:token/${button}`, async (request, reply) => {
      const { token } = request.params;
      const admission = admissions.of(request);
      const overLimit = buyers.charge(admission, 'buyer');
      if (overLimit) {
        admissions.conclude(request, overLimit);
        return sendErrorPage(withRetryAfter(reply, overLimit), 429, TOO_OFTEN);
      }
      const outcome = await perform(admission, button, request.body);
      if (outcome.ok) return reply.redirect(requestPath(encodeURIComponent(token)), 303);
      if (outcome.code !== 'state_conflict') return sendRefusal(reply, outcome);
      const { caller, arrival } = admission;
      const shown = await buyers.performInside('readRequest', {
        caller,
        surface: arrival.surface,
        requestId: arrival.requestId,
        input: {},
      });
      if (!shown.ok) return sendRefusal(reply, shown);
      return sendPage(reply, 409, requestPage(shown.value, { token, page: 1, refused: button }));
    });
  }
};
