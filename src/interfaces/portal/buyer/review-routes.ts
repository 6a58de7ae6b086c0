import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ProblemCode } from '#contracts/problems.ts';
import type { App } from '#src/app/app.ts';
import type { Review } from '#src/app/handoffs/review.ts';
import { isRefusal, type Outcome, type Refusal } from '#src/app/pipeline/outcome.ts';
import { sendRefusal, withRetryAfter } from '../layout/error-pages.ts';
import { sendPage } from '../layout/layout.ts';
import { NO_FAULTS } from '../layout/parts.ts';
import { createListRoute } from './create-list-route.ts';
import {
  type Admissions,
  admitBuyers,
  type BuyerAdmission,
  type ByToken,
} from './buyer-admission.ts';
import type { EnteredFields } from './review-form-fields.ts';
import {
  besideQuantities,
  declineInput,
  fieldsOf,
  isWorthKeeping,
  pageIn,
  pageAskedFor,
  quantitiesInput,
  quantitiesOf,
  revisionOf,
  rfqInput,
} from './review-form-fields.ts';
import { faultsOf } from './review-forms.ts';
import { reviewPage } from './review-page.ts';
import type { PictureOptions } from '../links/product-routes.ts';
import { addressOf, type ReviewView, type ReviewNotice } from './review-view.ts';

type ActName = 'quantities' | 'send' | 'decline';
type Act = (admission: BuyerAdmission, fields: EnteredFields) => Promise<Outcome<Review>>;

/** Operation that a refusal is audited as, by the last segment of the path. */
const BUTTONS = {
  open: 'openHandoff',
  quantities: 'reviseList',
  decline: 'declineHandoff',
  send: 'submitRfq',
  enter: 'portal:enter',
} as const;

/** The pages behind a review link. The holder of the link is the buyer; GET changes nothing. */
export const reviewRoutes = async (
  scope: FastifyInstance,
  app: App,
  pictures: PictureOptions,
): Promise<void> => {
  const { buyers } = app;
  const admissions = await admitBuyers(scope, app, {
    buttons: BUTTONS,
    otherwise: 'reviewHandoff',
  });

  scope.post('/', createListRoute(app));

  scope.get<ByToken>('/:token', async (request, reply) => {
    const quantities = new Map();
    const shown = await buyers.perform(admissions.of(request), 'reviewHandoff', {
      input: { quantities },
    });
    if (!shown.ok) return sendRefusal(reply, shown);
    const page = pageIn((request.query as { page?: unknown }).page);
    return sendPage(
      reply,
      200,
      reviewPage({ ...viewOf(request.params.token, shown.value, { pictures }), page }),
    );
  });

  scope.post('/:token/open', openRoute(app, admissions));

  for (const name of ['quantities', 'send', 'decline', 'enter'] as const) {
    // Reloading the page of a refused form shows the list.
    scope.get<ByToken>(`/:token/${name}`, async ({ params }, reply) =>
      reply.redirect(`/h/${encodeURIComponent(params.token)}`, 303),
    );
    scope.post<ByToken>(`/:token/${name}`, async (request, reply) => {
      const admission = admissions.of(request);
      const overLimit = buyers.charge(admission, 'buyer');
      if (overLimit) admissions.conclude(request, overLimit);
      const pressed = { admission, fields: fieldsOf(request.body) };
      const act = overLimit ?? (await actOf(app, name, pressed));
      return perform(app, reply, { ...pressed, act, pictures });
    });
  }
};

/** Records that the page is looked at; its script asks for it. */
const openRoute =
  ({ buyers }: App, admissions: Admissions) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const refused = admissions.refuseNow(request, reply);
    if (refused) return refused;
    const outcome = await buyers.perform(admissions.of(request), 'openHandoff', { input: {} });
    // The list may have been closed meanwhile; the page need not say so here.
    if (!outcome.ok && outcome.code !== 'state_conflict') return sendRefusal(reply, outcome);
    return reply.code(204).send();
  };

type Pressed = { admission: BuyerAdmission; fields: EnteredFields };
type Answering = Pressed & { pictures: PictureOptions };

/** Performs the act, unless it is refused already, and answers with a page or a redirect. */
const perform = async (
  app: App,
  reply: FastifyReply,
  { act, ...pressed }: Answering & { act: ActName | Refusal },
): Promise<FastifyReply> => {
  const { admission, fields, pictures } = pressed;
  const outcome = isRefusal(act) ? act : await actsOf(app)[act](admission, fields);
  if (!outcome.ok) return showAgain(app, reply, { ...pressed, refusal: outcome });
  const { token } = admission.caller;
  const kept = besideQuantities(fields);
  // A redirect would lose the other fields of saved quantities.
  if (act !== 'quantities' || !isWorthKeeping(kept, outcome.value))
    return reply.redirect(addressOf(token, pageAskedFor(fields)), 303);
  const view = viewOf(token, outcome.value, { pictures, typed: kept });
  return sendPage(reply, 200, reviewPage({ ...view, page: pageAskedFor(fields), notice: 'saved' }));
};

const actsOf = ({ buyers }: App): Record<ActName, Act> => ({
  quantities: (admission, fields) =>
    buyers.perform(admission, 'reviseList', { input: quantitiesInput(fields) }),
  send: (admission, fields) =>
    buyers.perform(admission, 'submitRfq', {
      input: { ...rfqInput(fields), address: admission.arrival.address },
    }),
  decline: (admission, fields) =>
    buyers.perform(admission, 'declineHandoff', { input: declineInput(fields) }),
});

/**
 * The act of a button. The browser does not say in which field Enter was pressed, so changed quantities are shown priced
 * first.
 */
const actOf = async (
  { buyers }: App,
  name: ActName | 'enter',
  { admission, fields }: Pressed,
): Promise<ActName | Refusal> => {
  if (name !== 'enter') return name;
  const shown = await lookAt(buyers, admission, quantitiesOf(fields));
  if (!shown.ok) return shown;
  return shown.value.isChanged ? 'quantities' : 'send';
};

/** Reads the list within the request of an act; the act is audited, not the read. */
const lookAt = (
  buyers: App['buyers'],
  { caller, arrival }: BuyerAdmission,
  quantities: EnteredFields,
): Promise<Outcome<Review>> => {
  const { surface, requestId } = arrival;
  const input = { quantities };
  return buyers.performInside('reviewHandoff', { caller, surface, requestId, input });
};

const ON_THE_LIST: ReadonlySet<ProblemCode> = new Set([
  'validation_failed',
  'state_conflict',
  'rate_limited',
]);

type Refused = Answering & { refusal: Refusal };

/** Shows the page again, with the reason why the act was refused. */
const showAgain = async (
  { buyers }: App,
  reply: FastifyReply,
  { admission, fields, pictures, refusal }: Refused,
): Promise<FastifyReply> => {
  const { code } = refusal;
  if (!ON_THE_LIST.has(code)) return sendRefusal(reply, refusal);
  const { token } = admission.caller;
  const shown = await lookAt(buyers, admission, quantitiesOf(fields));
  if (!shown.ok) return sendRefusal(reply, shown);
  const { open, state } = shown.value;
  if (code === 'validation_failed' && open) {
    const faults = faultsOf(refusal.errors ?? [], state.lines);
    return sendPage(
      reply,
      422,
      reviewPage({ ...viewOf(token, shown.value, { pictures, typed: fields }), faults }),
    );
  }
  const status = code === 'rate_limited' ? 429 : 409;
  withRetryAfter(reply, refusal);
  if (open && revisionOf(fields) === state.list_revision) {
    const view = viewOf(token, shown.value, { pictures, typed: fields });
    return sendPage(reply, status, reviewPage({ ...view, notice: noticeFor(refusal) }));
  }
  // Quantities for another revision are dropped, so that the buyer sees the current list.
  const current = { ...shown.value, entered: state };
  const view = viewOf(token, current, { pictures, typed: besideQuantities(fields) });
  return sendPage(reply, status, reviewPage({ ...view, notice: 'outrun' }));
};

const noticeFor = ({ code, extra }: Refusal): ReviewNotice => {
  if (extra?.['rejected'] === 'network_full') return 'network_full';
  if (code === 'rate_limited') return 'too_often';
  return extra?.['rejected'] === 'too_many_revisions' ? 'spent' : 'other_total';
};

/** With the page that the form was on: its faults are there. */
const viewOf = (
  token: string,
  review: Review,
  { pictures, typed = new Map() }: { pictures: PictureOptions; typed?: EnteredFields },
): ReviewView => {
  const { lines, totals } = review.entered;
  return {
    page: pageIn(typed.get('page')),
    review,
    token,
    ...pictures,
    typed,
    faults: NO_FAULTS,
    priced: { lines: new Map(lines.map((line) => [line.line_id, line])), totals },
  };
};
