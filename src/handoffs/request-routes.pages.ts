import type { FastifyInstance, FastifyReply } from 'fastify';
import type { App } from '#src/registries/app.ts';
import { requestPath } from '#src/shared/review-token.ts';
import { sendRefusal } from '#src/web/error-pages.ts';
import { sendPage } from '#src/web/layout.ts';
import { type HolderAdmission, insideOf, servePage } from '#src/web/holder-admission.ts';
import type { PictureOptions } from '#src/links/product-routes.pages.ts';
import { requestPage } from './request-page.pages.ts';
import { fieldsOf, pageIn, revisionOf } from './review-form-fields.pages.ts';

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
  await servePage(scope, app, {
    linkTo: 'request',
    buttons: BUTTONS,
    otherwise: 'readRequest',
    path: requestPath,
    read: (admission) => app.holders.perform(admission, 'readRequest', { input: {} }),
    page(token, shown, { query }) {
      const page = pageIn((query as { page?: unknown }).page);
      return requestPage(shown, { token, page, ...pictures });
    },
    press: ({ button, admission, request: { body } }, reply) =>
      press(app, reply, { admission, button, body, pictures }),
  });
};

type Pressed = {
  admission: HolderAdmission;
  button: Button;
  body: unknown;
  pictures: PictureOptions;
};

/** Performs what the button says, and shows the request as it is then. */
const press = async (
  { holders }: App,
  reply: FastifyReply,
  { admission, button, body, pictures }: Pressed,
): Promise<FastifyReply> => {
  const { token } = admission.caller;
  const outcome =
    button === 'confirm'
      ? await holders.perform(admission, 'confirmRequest', {
          input: { list_revision: revisionOf(fieldsOf(body)) },
        })
      : await holders.perform(admission, BUTTONS[button], { input: {} });
  if (outcome.ok) return reply.redirect(requestPath(encodeURIComponent(token)), 303);
  if (outcome.code !== 'state_conflict') return sendRefusal(reply, outcome);
  const shown = await holders.performInside('readRequest', { ...insideOf(admission), input: {} });
  if (!shown.ok) return sendRefusal(reply, shown);
  const page = requestPage(shown.value, { token, page: 1, refused: button, ...pictures });
  return sendPage(reply, 409, page);
};
