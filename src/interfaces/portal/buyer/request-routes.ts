import type { FastifyInstance, FastifyReply } from 'fastify';
import type { App } from '#src/app/app.ts';
import { requestPath } from '#src/app/handoffs/review-token.ts';
import { sendRefusal } from '../layout/error-pages.ts';
import { sendPage } from '../layout/layout.ts';
import { admitBuyers, type BuyerAdmission, type ByToken, serveButtons } from './buyer-admission.ts';
import type { PictureOptions } from '../links/product-routes.ts';
import { requestPage } from './request-page.ts';
import { fieldsOf, pageIn, revisionOf } from './review-form-fields.ts';

/** The operation of each button, by the last segment of its path. */
const BUTTONS = {
  confirm: 'confirmRequest',
  withdraw: 'withdrawRequest',
  'not-me': 'disownRequest',
} as const;

type Button = keyof typeof BUTTONS;

/** The pages behind the link that a buyer gets by mail. */
export const requestRoutes = async (
  scope: FastifyInstance,
  app: App,
  pictures: PictureOptions,
): Promise<void> => {
  const { buyers } = app;
  const admissions = await admitBuyers(scope, app, {
    buttons: BUTTONS,
    otherwise: 'readRequest',
  });

  scope.get<ByToken>('/:token', async (request, reply) => {
    const shown = await buyers.perform(admissions.of(request), 'readRequest', { input: {} });
    if (!shown.ok) return sendRefusal(reply, shown);
    const page = pageIn((request.query as { page?: unknown }).page);
    return sendPage(
      reply,
      200,
      requestPage(shown.value, { token: request.params.token, page, ...pictures }),
    );
  });

  serveButtons(scope, admissions, {
    buttons: BUTTONS,
    path: requestPath,
    press: (button, request, reply) =>
      press(app, reply, {
        admission: admissions.of(request),
        button,
        body: request.body,
        pictures,
      }),
  });
};

type Pressed = {
  admission: BuyerAdmission;
  button: Button;
  body: unknown;
  pictures: PictureOptions;
};

/** Performs what the button says, and shows the request as it is then. */
const press = async (
  { buyers }: App,
  reply: FastifyReply,
  { admission, button, body, pictures }: Pressed,
): Promise<FastifyReply> => {
  const { caller, arrival } = admission;
  const { token } = caller;
  const outcome =
    button === 'confirm'
      ? await buyers.perform(admission, 'confirmRequest', {
          input: { list_revision: revisionOf(fieldsOf(body)) },
        })
      : await buyers.perform(admission, BUTTONS[button], { input: {} });
  if (outcome.ok) return reply.redirect(requestPath(encodeURIComponent(token)), 303);
  if (outcome.code !== 'state_conflict') return sendRefusal(reply, outcome);
  const { surface, requestId } = arrival;
  const shown = await buyers.performInside('readRequest', {
    caller,
    surface,
    requestId,
    input: {},
  });
  if (!shown.ok) return sendRefusal(reply, shown);
  const page = requestPage(shown.value, { token, page: 1, refused: button, ...pictures });
  return sendPage(reply, 409, page);
};
