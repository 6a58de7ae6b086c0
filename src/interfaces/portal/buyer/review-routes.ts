import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import formbody from '@fastify/formbody';
import { LIMITS } from '#contracts/limits.ts';
import type { ProblemCode } from '#contracts/problems.ts';
import type { App } from '#src/app/app.ts';
import type { Review } from '#src/app/handoffs/review.ts';
import type { Admission } from '#src/app/pipeline/admission.ts';
import type { BuyerCaller } from '#src/app/pipeline/call.ts';
import { type Outcome, type Refusal, refuse } from '#src/app/pipeline/outcome.ts';
import { arrivalOf } from '../../http/arrival.ts';
import { httpRefusal, sendProblem, refuseMethod } from '../../http/http.ts';
import { notFoundPage, sendErrorPage, sendRefusal, withRetryAfter } from '../layout/error-pages.ts';
import { PRIVATE_HEADERS } from '../layout/headers.ts';
import { sendPage } from '../layout/layout.ts';
import { NO_FAULTS } from '../layout/parts.ts';
import { createListRoute } from './create-list-route.ts';
import { agentRefusal, isForeign } from './guard.ts';
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
import { addressOf, type ReviewView, type ReviewNotice } from './review-view.ts';

type ByToken = { Params: { token: string } };
type BuyerAdmission = Admission<BuyerCaller>;
type Act = (admission: BuyerAdmission, fields: EnteredFields) => Promise<Outcome<Review>>;

const NO_LIST = 'There is no such list. Check that the link is complete.';
const FOREIGN = {
  title: 'Sent from another site',
  detail: 'The form came from a page that is not ours. Nothing was changed. Open your link again.',
};
const TOO_OFTEN = {
  title: 'Too much at once',
  detail: 'This link was used too often within a minute. Nothing was changed.',
};

/** Operation that a refusal is audited as, by the last segment of the path. */
const BUTTONS = {
  open: 'openHandoff',
  quantities: 'reviseList',
  decline: 'declineHandoff',
  send: 'submitRfq',
  enter: 'portal:enter',
} as const;

const buttonOf = ({ routeOptions }: FastifyRequest): string => {
  const name = routeOptions.url?.split('/').at(-1) ?? '';
  return Object.entries(BUTTONS).find(([button]) => button === name)?.[1] ?? 'reviewHandoff';
};

type Admissions = {
  /** The admission of a request; throws when the request has none. */
  of(request: FastifyRequest): BuyerAdmission;
  /** Audits the refusal of a request that ends without an operation. */
  conclude(request: FastifyRequest, refusal: Refusal): void;
};

/** Admits every request of the scope; refuses agents and forms of other sites. */
const admitBuyers = (scope: FastifyInstance, { buyers, origin }: App): Admissions => {
  const admissions = new WeakMap<FastifyRequest, BuyerAdmission>();
  const conclude = (request: FastifyRequest, refusal: Refusal): void => {
    const admission = admissions.get(request);
    if (admission) buyers.conclude(admission, buttonOf(request), refusal);
  };
  scope.addHook('onRequest', async (request, reply) => {
    reply.headers(PRIVATE_HEADERS);
    const { token } = request.params as Partial<ByToken['Params']>;
    const arrival = { ...arrivalOf(request, 'portal'), credential: token };
    const admitted = buyers.admit(arrival, { exchange: buttonOf(request) });
    if (!admitted.ok) return sendRefusal(reply, admitted);
    if (token !== undefined) admissions.set(request, admitted.value);
    const refusal = agentRefusal(request);
    if (refusal) {
      conclude(request, refusal);
      return sendProblem(reply, refusal, origin());
    }
    if (!isForeign(request, origin())) return undefined;
    conclude(request, refuse('origin_not_allowed', FOREIGN.detail));
    return sendErrorPage(reply, 403, FOREIGN);
  });
  scope.setNotFoundHandler(
    (_request, reply) => refuseMethod(reply, origin()) ?? notFoundPage(reply, NO_LIST),
  );
  scope.addHook('onError', async (request, _reply, error) => conclude(request, httpRefusal(error)));
  return {
    conclude,
    of(request) {
      const admission = admissions.get(request);
      if (!admission) throw new Error('a review page was reached without an admission');
      return admission;
    },
  };
};

/** The pages behind a review link. The holder of the link is the buyer; GET changes nothing. */
export const reviewRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  const { buyers } = app;
  // Forms only: a program would send JSON.
  scope.removeAllContentTypeParsers();
  await scope.register(formbody, { bodyLimit: LIMITS.BODY_BYTES_MAX });
  const admissions = admitBuyers(scope, app);

  scope.post('/', createListRoute(app));

  scope.get<ByToken>('/:token', async (request, reply) => {
    const quantities = new Map();
    const shown = await buyers.perform(admissions.of(request), 'reviewHandoff', {
      input: { quantities },
    });
    if (!shown.ok) return sendRefusal(reply, shown);
    const page = pageIn((request.query as { page?: unknown }).page);
    return sendPage(reply, 200, reviewPage({ ...viewOf(request.params.token, shown.value), page }));
  });

  scope.post<ByToken>('/:token/open', async (request, reply) => {
    const admission = admissions.of(request);
    const overLimit = buyers.charge(admission, 'buyer');
    if (overLimit) {
      admissions.conclude(request, overLimit);
      if (overLimit.code === 'overloaded') return sendRefusal(reply, overLimit);
      return sendErrorPage(withRetryAfter(reply, overLimit), 429, TOO_OFTEN);
    }
    const outcome = await buyers.perform(admission, 'openHandoff', { input: {} });
    // The list may have been closed meanwhile; the page need not say so here.
    if (!outcome.ok && outcome.code !== 'state_conflict') return sendRefusal(reply, outcome);
    return reply.code(204).send();
  });

  for (const [name, act] of Object.entries(actsOf(app))) {
    // Reloading the page of a refused form shows the list.
    scope.get<ByToken>(`/:token/${name}`, async ({ params }, reply) =>
      reply.redirect(`/h/${encodeURIComponent(params.token)}`, 303),
    );
    scope.post<ByToken>(`/:token/${name}`, async (request, reply) => {
      const fields = fieldsOf(request.body);
      const { token } = request.params;
      const admission = admissions.of(request);
      const overLimit = buyers.charge(admission, 'buyer');
      if (overLimit) admissions.conclude(request, overLimit);
      const outcome = overLimit ?? (await act(admission, fields));
      if (!outcome.ok) return showAgain(app, reply, { admission, fields, refusal: outcome });
      const kept = besideQuantities(fields);
      // A redirect would lose the other fields.
      if (!outcome.value.open || !isWorthKeeping(kept, outcome.value))
        return reply.redirect(addressOf(token, pageAskedFor(fields)), 303);
      const view = viewOf(token, outcome.value, kept);
      return sendPage(
        reply,
        200,
        reviewPage({ ...view, page: pageAskedFor(fields), notice: 'saved' }),
      );
    });
  }
};

const actsOf = ({ buyers }: App): Record<Exclude<keyof typeof BUTTONS, 'open'>, Act> => {
  const quantities: Act = (admission, fields) =>
    buyers.perform(admission, 'reviseList', { input: quantitiesInput(fields) });
  const send: Act = (admission, fields) =>
    buyers.perform(admission, 'submitRfq', { input: rfqInput(fields) });
  return {
    quantities,
    send,
    decline: (admission, fields) =>
      buyers.perform(admission, 'declineHandoff', { input: declineInput(fields) }),
    // The browser does not say in which field Enter was pressed, so changed quantities are shown priced first.
    async enter(admission, fields) {
      const shown = await lookAt(buyers, admission, quantitiesOf(fields));
      if (!shown.ok) return shown;
      return (shown.value.isChanged ? quantities : send)(admission, fields);
    },
  };
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

type Refused = { admission: BuyerAdmission; fields: EnteredFields; refusal: Refusal };

/** Shows the page again, with the reason why the act was refused. */
const showAgain = async (
  { buyers }: App,
  reply: FastifyReply,
  { admission, fields, refusal }: Refused,
): Promise<FastifyReply> => {
  const { code } = refusal;
  if (!ON_THE_LIST.has(code)) return sendRefusal(reply, refusal);
  const { token } = admission.caller;
  const shown = await lookAt(buyers, admission, quantitiesOf(fields));
  if (!shown.ok) return sendRefusal(reply, shown);
  const { open, state } = shown.value;
  if (code === 'validation_failed' && open) {
    const faults = faultsOf(refusal.errors ?? [], state.lines);
    return sendPage(reply, 422, reviewPage({ ...viewOf(token, shown.value, fields), faults }));
  }
  const status = code === 'rate_limited' ? 429 : 409;
  withRetryAfter(reply, refusal);
  if (open && revisionOf(fields) === state.list_revision) {
    const view = viewOf(token, shown.value, fields);
    return sendPage(reply, status, reviewPage({ ...view, notice: noticeFor(refusal) }));
  }
  // Quantities for another revision are dropped, so that the buyer sees the current list.
  const view = viewOf(token, { ...shown.value, entered: state }, besideQuantities(fields));
  return sendPage(reply, status, reviewPage({ ...view, notice: 'outrun' }));
};

const noticeFor = ({ code, extra }: Refusal): ReviewNotice => {
  if (code === 'rate_limited') return 'too_often';
  return extra?.['rejected'] === 'too_many_revisions' ? 'spent' : 'other_total';
};

/** With the page that the form was on: its faults are there. */
const viewOf = (token: string, review: Review, typed: EnteredFields = new Map()): ReviewView => {
  const { lines, totals } = review.entered;
  return {
    page: pageIn(typed.get('page')),
    review,
    token,
    typed,
    faults: NO_FAULTS,
    priced: { lines: new Map(lines.map((line) => [line.line_id, line])), totals },
  };
};
