import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '#src/registries/app.ts';
import type { Refusal } from '#src/shared/outcome.ts';
import { privacyPath } from './own-data.ts';
import { type HolderAdmission, servePage } from '#src/web/holder-admission.ts';
import { sendErrorPage, sendRefusal, withRetryAfter } from '#src/web/error-pages.ts';
import { sendPage } from '#src/web/layout.ts';
import { askPage, erasedPage, mailedPage, ownDataPage } from './privacy-page.pages.ts';

/** The operation of each button, by the last segment of its path. */
const BUTTONS = {
  export: 'exportOwnData',
  refuse: 'refuseOwnContact',
  allow: 'allowOwnContact',
  erase: 'eraseOwnData',
} as const;

const DONE = { refuse: 'Contact is refused.', allow: 'Contact is allowed.' };
const NETWORK_FULL = {
  title: 'Too many links',
  detail: 'Too many links were asked for from your network today. Please try again tomorrow.',
};

type Fields = Readonly<Record<string, string | string[] | undefined>>;

const fieldsOf = ({ body }: FastifyRequest): Fields => (body ?? {}) as Fields;
const valuesOf = (fields: Fields, name: string): string[] => [fields[name] ?? []].flat();

/** The pages of people about their own data. */
export const privacyRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  const { holders } = app;
  await servePage(scope, app, {
    linkTo: 'ownData',
    buttons: BUTTONS,
    otherwise: 'readOwnData',
    path: privacyPath,
    read: (admission) => holders.perform(admission, 'readOwnData', { input: {} }),
    page: (token, shown) => ownDataPage(token, shown),
    async press({ button, admission, request }, reply) {
      const pressed = { admission, fields: fieldsOf(request) };
      if (button === 'export') return sendCopy(app, reply, pressed);
      if (button === 'erase') return erase(app, reply, pressed);
      const [owner = ''] = valuesOf(pressed.fields, 'owner');
      const input = owner === '' ? {} : { owner_id: owner };
      const outcome = await holders.perform(admission, BUTTONS[button], { input });
      if (!outcome.ok) return sendRefusal(reply, outcome);
      const page = ownDataPage(admission.caller.token, outcome.value, DONE[button]);
      return sendPage(reply, 200, page);
    },
  });

  scope.get('/', (_request, reply) => sendPage(reply, 200, askPage()));
  scope.post('/', async (request, reply) => {
    const [mailbox = ''] = valuesOf(fieldsOf(request), 'mailbox');
    const outcome = await holders.performAs('requestPrivacyLink', {
      caller: { kind: 'holder', token: '' },
      surface: 'portal',
      requestId: request.id,
      input: { mailbox, address: request.ip },
    });
    return outcome.ok
      ? sendPage(reply, 200, mailedPage)
      : showRefusedForm(reply, { mailbox, refusal: outcome });
  });
};

type Pressed = { admission: HolderAdmission; fields: Fields };

const erase = async (
  { holders }: App,
  reply: FastifyReply,
  { admission, fields }: Pressed,
): Promise<FastifyReply> => {
  const input = {
    folded: valuesOf(fields, 'folded'),
    allow_contact: fields['allow_contact'] !== undefined,
  };
  const outcome = await holders.perform(admission, 'eraseOwnData', { input });
  return outcome.ok ? sendPage(reply, 200, erasedPage(outcome.value)) : sendRefusal(reply, outcome);
};

const sendCopy = async (
  { holders }: App,
  reply: FastifyReply,
  { admission, fields }: Pressed,
): Promise<FastifyReply> => {
  const input = { folded: valuesOf(fields, 'folded') };
  const copy = await holders.perform(admission, 'exportOwnData', { input });
  if (!copy.ok) return sendRefusal(reply, copy);
  return reply
    .header('content-disposition', 'attachment; filename="your-data.json"')
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(copy.value, null, 2));
};

const showRefusedForm = (
  reply: FastifyReply,
  { mailbox, refusal }: { mailbox: string; refusal: Refusal },
): FastifyReply | Promise<FastifyReply> => {
  if (refusal.code === 'rate_limited')
    return sendErrorPage(withRetryAfter(reply, refusal), 429, NETWORK_FULL);
  if (refusal.code !== 'validation_failed') return sendRefusal(reply, refusal);
  const faults = new Map([['mailbox', 'Enter a mail address, like ada@example.com.']]);
  return sendPage(reply, 422, askPage(mailbox, faults));
};
