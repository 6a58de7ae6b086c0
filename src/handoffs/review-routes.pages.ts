import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ProblemCode } from '#contracts/problems.ts';
import type { App } from '#src/registries/app.ts';
import type { Review } from './review.ts';
import { isRefusal, type Outcome, type Refusal } from '#src/shared/outcome.ts';
import { sendRefusal, withRetryAfter } from '#src/web/error-pages.ts';
import { NO_FAULTS, sendPage } from '#src/web/layout.ts';
import { createListRoute } from './create-list-route.pages.ts';
import {
  type Admissions,
  admitHolders,
  type HolderAdmission,
  type ByToken,
  insideOf,
} from '#src/web/holder-admission.ts';
import type { EnteredFields } from './review-form-fields.pages.ts';
import {
  addedLine,
  besideQuantities,
  declineInput,
  fieldsOf,
  isSearch,
  isWorthKeeping,
  pageAskedFor,
  pageIn,
  pageOfFault,
  quantitiesOf,
  revisionInput,
  revisionOf,
  rfqInput,
  searchedFields,
  wordsOf,
} from './review-form-fields.pages.ts';
import { faultsOf } from './review-forms.pages.ts';
import { reviewPage } from './review-page.pages.ts';
import type { PictureOptions } from '#src/links/product-routes.pages.ts';
import { addressOf, pageWith, type ReviewView, type ReviewNotice } from './review-view.pages.ts';

type ActName = 'quantities' | 'send' | 'decline';
type Pressable = ActName | 'search';
type Act = (admission: HolderAdmission, fields: EnteredFields) => Promise<Outcome<Review>>;

/** Operation that a refusal is audited as, by the last segment of the path. */
const BUTTONS = {
  open: 'openHandoff',
  quantities: 'reviseList',
  search: 'reviewHandoff',
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
  const { holders } = app;
  const admissions = await admitHolders(scope, app, {
    linkTo: 'list',
    buttons: BUTTONS,
    otherwise: 'reviewHandoff',
  });

  scope.post('/', createListRoute(app));

  scope.get<ByToken>('/:token', async (request, reply) => {
    const quantities = new Map();
    const shown = await holders.perform(admissions.of(request), 'reviewHandoff', {
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

  for (const name of ['quantities', 'search', 'send', 'decline', 'enter'] as const) {
    // Reloading the page of a refused form shows the list.
    scope.get<ByToken>(`/:token/${name}`, async ({ params }, reply) =>
      reply.redirect(`/h/${encodeURIComponent(params.token)}`, 303),
    );
    scope.post<ByToken>(`/:token/${name}`, async (request, reply) => {
      const admission = admissions.of(request);
      const overLimit = holders.charge(admission, 'holder');
      if (overLimit) admissions.conclude(request, overLimit);
      const pressed = { admission, fields: fieldsOf(request.body) };
      const act = overLimit ?? (await actOf(app, name, pressed));
      return perform(app, reply, { ...pressed, act, pictures });
    });
  }
};

/** Records that the page is looked at; its script asks for it. */
const openRoute =
  ({ holders }: App, admissions: Admissions) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const refused = admissions.refuseNow(request, reply);
    if (refused) return refused;
    const outcome = await holders.perform(admissions.of(request), 'openHandoff', { input: {} });
    // The list may have been closed meanwhile; the page need not say so here.
    if (!outcome.ok && outcome.code !== 'state_conflict') return sendRefusal(reply, outcome);
    return reply.code(204).send();
  };

type Pressed = { admission: HolderAdmission; fields: EnteredFields };
type Answering = Pressed & { pictures: PictureOptions };

/** Performs the act, unless it is refused already, and answers with a page or a redirect. */
const perform = async (
  app: App,
  reply: FastifyReply,
  { act, ...pressed }: Answering & { act: Pressable | Refusal },
): Promise<FastifyReply> => {
  const { admission, fields, pictures } = pressed;
  if (act === 'search')
    return showAgain(app, reply, { ...pressed, fields: searchedFields(fields) });
  const outcome = isRefusal(act) ? act : await actsOf(app)[act](admission, fields);
  if (!outcome.ok) return showAgain(app, reply, { ...pressed, refusal: outcome });
  const { token } = admission.caller;
  const kept = besideQuantities(fields);
  const added = addedLine(fields, outcome.value);
  // A redirect would lose the other fields of saved quantities, and the focus of an added line.
  if (act !== 'quantities' || (!added && !isWorthKeeping(kept, outcome.value)))
    return reply.redirect(addressOf(token, pageAskedFor(fields)), 303);
  const shown = await lookAt(app.holders, admission, kept);
  if (!shown.ok) return sendRefusal(reply, shown);
  const view = viewOf(token, shown.value, { pictures, typed: kept });
  const { lines } = shown.value.state;
  const answer = added
    ? ({ page: pageWith(lines, added), notice: 'added', added } as const)
    : ({ page: pageAskedFor(fields), notice: 'saved' } as const);
  return sendPage(reply, 200, reviewPage({ ...view, ...answer }));
};

const actsOf = ({ holders }: App): Record<ActName, Act> => ({
  quantities: (admission, fields) =>
    holders.perform(admission, 'reviseList', { input: revisionInput(fields) }),
  send: (admission, fields) =>
    holders.perform(admission, 'submitRfq', {
      input: { ...rfqInput(fields), address: admission.arrival.address },
    }),
  decline: (admission, fields) =>
    holders.perform(admission, 'declineHandoff', { input: declineInput(fields) }),
});

/**
 * The act of a button. The browser does not say in which field Enter was pressed, so words are searched for first, and
 * changed quantities are shown priced.
 */
const actOf = async (
  { holders }: App,
  name: Pressable | 'enter',
  { admission, fields }: Pressed,
): Promise<Pressable | Refusal> => {
  if (name !== 'enter') return name;
  if (isSearch(fields)) return 'search';
  const shown = await lookAt(holders, admission, fields);
  if (!shown.ok) return shown;
  return shown.value.isChanged ? 'quantities' : 'send';
};

const lookAt = (
  holders: App['holders'],
  admission: HolderAdmission,
  fields: EnteredFields,
): Promise<Outcome<Review>> => {
  const input = { quantities: quantitiesOf(fields), words: wordsOf(fields) };
  return holders.performInside('reviewHandoff', { ...insideOf(admission), input });
};

const ON_THE_LIST: ReadonlySet<ProblemCode> = new Set([
  'validation_failed',
  'state_conflict',
  'rate_limited',
]);

/** Without a refusal, the form was a search. */
type Refused = Answering & { refusal?: Refusal };

/** Shows the page again with what was typed, and with the reason why an act was refused. */
const showAgain = async (
  { holders }: App,
  reply: FastifyReply,
  { admission, fields, pictures, refusal }: Refused,
): Promise<FastifyReply> => {
  const { code } = refusal ?? {};
  if (refusal && !ON_THE_LIST.has(refusal.code)) return sendRefusal(reply, refusal);
  const { token } = admission.caller;
  const shown = await lookAt(holders, admission, fields);
  if (!shown.ok) return sendRefusal(reply, shown);
  const { open, state } = shown.value;
  if (code === 'validation_failed' && open) {
    const faults = faultsOf(refusal?.errors ?? [], state.lines);
    const view = viewOf(token, shown.value, { pictures, typed: fields });
    return sendPage(reply, 422, reviewPage({ ...view, faults, page: pageOfFault(faults, view) }));
  }
  const status = code === 'rate_limited' ? 429 : 409;
  if (refusal) withRetryAfter(reply, refusal);
  if (open && revisionOf(fields) === state.list_revision) {
    const view = viewOf(token, shown.value, { pictures, typed: fields });
    const answered = refusal ? { ...view, notice: noticeFor(refusal) } : view;
    return sendPage(reply, refusal ? status : 200, reviewPage(answered));
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
