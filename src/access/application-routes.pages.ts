import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '#src/registries/app.ts';
import { applicationPath } from './application-link.ts';
import type { Refusal } from '#src/shared/outcome.ts';
import { type HolderAdmission, insideOf, servePage } from '#src/web/holder-admission.ts';
import { sendErrorPage, sendRefusal, withRetryAfter } from '#src/web/error-pages.ts';
import { sendPage } from '#src/web/layout.ts';
import {
  appliedPage,
  applicationPage,
  applyPage,
  disownedPage,
  type EnteredApplication,
  faultsIn,
  keyPage,
} from './application-page.pages.ts';

/** The operation of each button, by the last segment of its path. */
const BUTTONS = {
  confirm: 'confirmApplication',
  'not-me': 'disownApplication',
  key: 'issueFirstKey',
} as const;

const NETWORK_FULL = {
  title: 'Too many applications',
  detail: 'Too many links were asked for from your network today. Please try again tomorrow.',
};

const TEXTS = ['name', 'postal_address', 'mailbox', 'owner_id', 'agent_name', 'purpose'];

const fieldsOf = ({ body }: FastifyRequest): EnteredApplication =>
  (body ?? {}) as EnteredApplication;

/** One text of a form. Browsers send line breaks as CR LF. */
const textIn = (fields: EnteredApplication, name: string): string =>
  String([fields[name] ?? ''].flat()[0])
    .replaceAll('\r\n', '\n')
    .trim();

/** The form for an application, and the page behind the link that an applicant gets by mail. */
export const applicationRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  const { holders } = app;
  await servePage(scope, app, {
    linkTo: 'application',
    buttons: BUTTONS,
    otherwise: 'readApplication',
    path: applicationPath,
    read: (admission) => holders.perform(admission, 'readApplication', { input: {} }),
    page: (token, shown) => applicationPage(token, shown),
    async press({ button, admission, request }, reply) {
      if (button === 'confirm')
        return confirm(app, reply, { admission, owner: textIn(fieldsOf(request), 'owner_id') });
      if (button === 'not-me') {
        const outcome = await holders.perform(admission, 'disownApplication', { input: {} });
        return outcome.ok ? sendPage(reply, 200, disownedPage) : showOr(reply, admission, outcome);
      }
      const outcome = await holders.perform(admission, 'issueFirstKey', { input: {} });
      return outcome.ok
        ? sendPage(reply, 200, keyPage(outcome.value))
        : showOr(reply, admission, outcome);
    },
  });

  scope.get('/', (_request, reply) => sendPage(reply, 200, applyPage()));
  scope.post('/', async (request, reply) => {
    const fields = fieldsOf(request);
    const texts = Object.fromEntries(TEXTS.map((name) => [name, textIn(fields, name)]));
    const scopes = [fields['scopes'] ?? []].flat();
    const outcome = await holders.performAs('applyForAccess', {
      caller: { kind: 'holder', token: '' },
      surface: 'portal',
      requestId: request.id,
      input: { ...texts, scopes, address: request.ip },
    });
    if (outcome.ok) return sendPage(reply, 200, appliedPage);
    if (outcome.code === 'rate_limited')
      return sendErrorPage(withRetryAfter(reply, outcome), 429, NETWORK_FULL);
    if (outcome.code !== 'validation_failed') return sendRefusal(reply, outcome);
    return sendPage(reply, 422, applyPage({ ...texts, scopes }, faultsIn(outcome.errors ?? [])));
  });
};

/** Shows the application as it is, if an act came too late; otherwise the refusal. */
const showOr = (
  reply: FastifyReply,
  { caller }: HolderAdmission,
  refusal: Refusal,
): FastifyReply | Promise<FastifyReply> =>
  refusal.code === 'state_conflict'
    ? reply.redirect(applicationPath(caller.token), 303)
    : sendRefusal(reply, refusal);

/** Confirms the application; shows its page again with the fault if the short name cannot be used. */
const confirm = async (
  { holders }: App,
  reply: FastifyReply,
  { admission, owner }: { admission: HolderAdmission; owner: string },
): Promise<FastifyReply> => {
  const { token } = admission.caller;
  const outcome = await holders.perform(admission, 'confirmApplication', {
    input: { owner_id: owner },
  });
  if (outcome.ok) return reply.redirect(applicationPath(token), 303);
  if (outcome.code !== 'validation_failed') return sendRefusal(reply, outcome);
  const inside = { ...insideOf(admission), input: {} };
  const shown = await holders.performInside('readApplication', inside);
  if (!shown.ok) return sendRefusal(reply, shown);
  const faults = faultsIn(outcome.errors ?? []);
  return sendPage(reply, 422, applicationPage(token, shown.value, { owner, faults }));
};
