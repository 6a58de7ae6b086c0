import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import formbody from '@fastify/formbody';
import { LIMITS } from '#contracts/limits.ts';
import type { ProblemCode } from '#contracts/problems.ts';
import { declineHandoff, openHandoff, reviseList, submitRfq } from '#src/app/handoffs/buyer.ts';
import type { Outcome, Refusal } from '#src/app/pipeline/outcome.ts';
import type { Review } from '#src/app/handoffs/review.ts';
import { review } from '#src/app/handoffs/review.ts';
import { reviewTokenHash } from '#src/app/handoffs/review-token.ts';
import { isChanged, withQuantities } from '#src/app/handoffs/typed-quantities.ts';
import { tooMany } from '#src/interfaces/http/by-address.ts';
import { sendProblem, wrongMethod } from '#src/interfaces/http/http.ts';
import { notFoundPage, sendErrorPage, UNAVAILABLE } from '../layout/error-pages.ts';
import { agentRefusal, isForeign } from './guard.ts';
import { PRIVATE_HEADERS } from '../layout/headers.ts';
import { sendPage } from '../layout/layout.ts';
import { NO_FAULTS } from '../layout/parts.ts';
import type { PortalDeps } from '../portal-deps.ts';
import { faultsOf } from './review-forms.ts';
import { reviewPage } from './review-page.ts';
import type { ReviewView, Told } from './review-view.ts';
import { readTotals } from './review-view.ts';

type ByToken = { Params: { token: string } };
type Request = FastifyRequest<ByToken>;
type Typed = ReadonlyMap<string, string>;
type Act = (token: string, typed: Typed, requestId: string) => Promise<Outcome<Review>>;

const NO_LIST = 'There is no such list. Check that the link is complete.';
const FOREIGN = {
  title: 'Sent from another site',
  detail: 'The form came from a page that is not ours. Nothing was changed. Open your link again.',
};
const TOO_OFTEN = {
  title: 'Too much at once',
  detail: 'So much came from this link that it has to wait a moment. Nothing was changed.',
};

/** The pages behind a review link. Whoever holds the link is the buyer; GET changes nothing. */
export const reviewRoutes = async (scope: FastifyInstance, deps: PortalDeps): Promise<void> => {
  // Forms only: a JSON body here is a program's.
  scope.removeAllContentTypeParsers();
  await scope.register(formbody, { bodyLimit: LIMITS.BODY_BYTES_MAX });
  scope.addHook('onRequest', async (request, reply) => {
    reply.headers(PRIVATE_HEADERS);
    const refusal = agentRefusal(request);
    if (refusal) return sendProblem(reply, refusal, deps.origin());
    if (isForeign(request, deps.origin())) return sendErrorPage(reply, 403, FOREIGN);
  });
  scope.setNotFoundHandler(
    (_request, reply) => wrongMethod(reply, deps.origin()) ?? notFoundPage(reply, NO_LIST),
  );

  scope.get<ByToken>('/:token', async ({ params }, reply) => {
    const found = await review(deps, params.token);
    if (!found.ok) return refused(reply, found);
    return sendPage(reply, 200, reviewPage(viewOf(deps, params.token, found.value)));
  });

  // Each act is an event that every later look reads.
  const tooOften = (token: string): Refusal | undefined => {
    const verdict = deps.buyerActs.take(reviewTokenHash(token));
    return verdict.allowed ? undefined : tooMany(verdict, deps.buyerActs);
  };

  scope.post<ByToken>('/:token/open', async ({ params, id }, reply) => {
    const refusal = tooOften(params.token);
    if (refusal) return sendErrorPage(later(reply, refusal), 429, TOO_OFTEN);
    const outcome = await openHandoff(deps, params.token, id);
    // A list that was closed meanwhile cannot be opened: nothing that the page would tell anybody.
    if (!outcome.ok && outcome.code !== 'state_conflict') return refused(reply, outcome);
    return reply.code(204).send();
  });

  for (const [name, act] of Object.entries(actsOf(deps))) {
    // Where a reader stands whose form was not taken: loading that address again shows the list.
    scope.get<ByToken>(`/:token/${name}`, async ({ params }, reply) =>
      reply.redirect(`/h/${encodeURIComponent(params.token)}`, 303),
    );
    scope.post<ByToken>(`/:token/${name}`, async (request, reply) => {
      const typed = typedIn(request);
      const { token } = request.params;
      const outcome = tooOften(token) ?? (await act(token, typed, request.id));
      if (!outcome.ok) return again(deps, reply, { token, typed, outcome });
      const kept = beside(typed);
      // What was typed beside the quantities stands in no address that a redirect could lead to.
      if (!outcome.value.open || !isWorthKeeping(kept, outcome.value))
        return reply.redirect(`/h/${token}`, 303);
      const view = viewOf(deps, token, outcome.value, kept);
      return sendPage(reply, 200, reviewPage({ ...view, told: 'saved' }));
    });
  }
};

const actsOf = (deps: PortalDeps): Record<'quantities' | 'decline' | 'send' | 'enter', Act> => {
  const quantities: Act = (token, typed, requestId) =>
    reviseList(deps, token, {
      requestId,
      listRevision: revisionIn(typed),
      quantities: quantitiesIn(typed),
    });
  const send: Act = (token, typed, requestId) => {
    const totals = typed.get('totals');
    return submitRfq(deps, token, {
      requestId,
      listRevision: revisionIn(typed),
      quantities: quantitiesIn(typed),
      ...(totals !== undefined && { shown: readTotals(totals) }),
      consent: typed.get('consent') === 'yes',
      contact: {
        name: said(typed, 'name'),
        email: said(typed, 'email'),
        ...(said(typed, 'company') !== '' && { company: said(typed, 'company') }),
        ...(said(typed, 'phone') !== '' && { phone: said(typed, 'phone') }),
      },
    });
  };
  return {
    quantities,
    send,
    decline: (token, typed, requestId) =>
      declineHandoff(deps, token, {
        requestId,
        reason: said(typed, 'reason').replaceAll(/\s+/g, ' '),
      }),
    // In which field it was pressed is not told: quantities are shown priced before they are sent.
    async enter(token, typed, requestId) {
      const now = await review(deps, token);
      if (!now.ok) return now;
      const act = isChanged(now.value.state, quantitiesIn(typed)) ? quantities : send;
      return act(token, typed, requestId);
    },
  };
};

const BESIDE = ['name', 'email', 'company', 'phone', 'consent', 'reason'];
const QUANTITY = 'quantity.';

const said = (typed: Typed, name: string): string => typed.get(name)?.trim() ?? '';

const quantitiesIn = (typed: Typed): Typed =>
  new Map(
    [...typed].flatMap(([name, value]) =>
      name.startsWith(QUANTITY) ? [[name.slice(QUANTITY.length), value] as const] : [],
    ),
  );

/** What was typed beside the quantities. */
const beside = (typed: Typed): Typed =>
  new Map([...typed].filter(([name]) => !name.startsWith(QUANTITY)));

/** A form that only shows what it was filled with has nothing to lose. */
const isWorthKeeping = (typed: Typed, { state: { buyer } }: Review): boolean =>
  BESIDE.some((name) => said(typed, name) !== (name === 'company' ? (buyer.company ?? '') : ''));

/** A form without a readable revision is of no list that there is: the reader looks again. */
const revisionIn = (typed: Typed): number => {
  const digits = typed.get('list_revision') ?? '';
  return /^\d{1,9}$/.test(digits) ? Number(digits) : 0;
};

/** The fields of a form by name; of a name that came twice, the first. */
const typedIn = ({ body }: Request): Typed =>
  new Map(
    Object.entries((body ?? {}) as Record<string, unknown>).map(([name, value]) => [
      name,
      String(Array.isArray(value) ? value[0] : value),
    ]),
  );

const ON_THE_LIST: ReadonlySet<ProblemCode> = new Set([
  'validation_failed',
  'state_conflict',
  'rate_limited',
]);

/** The page once more, with what stands in the way of the act. */
const again = async (
  deps: PortalDeps,
  reply: FastifyReply,
  { token, typed, outcome }: { token: string; typed: Typed; outcome: Refusal },
): Promise<FastifyReply> => {
  const { code } = outcome;
  if (!ON_THE_LIST.has(code)) return refused(reply, outcome);
  const now = await review(deps, token);
  if (!now.ok) return refused(reply, now);
  const { open, state } = now.value;
  if (code === 'validation_failed' && open) {
    const faults = faultsOf(outcome.errors ?? [], state.lines);
    const view = viewOf(deps, token, now.value, typed);
    return sendPage(reply, 422, reviewPage({ ...view, faults }));
  }
  const status = code === 'rate_limited' ? 429 : 409;
  later(reply, outcome);
  if (open && revisionIn(typed) === state.list_revision) {
    const view = viewOf(deps, token, now.value, typed);
    return sendPage(reply, status, reviewPage({ ...view, told: toldOf(outcome) }));
  }
  // Quantities typed into another list are dropped: the reader must see the one that stands.
  const view = viewOf(deps, token, now.value, beside(typed));
  return sendPage(reply, status, reviewPage({ ...view, told: 'outrun' }));
};

const toldOf = ({ code, extra }: Refusal): Told => {
  if (code === 'rate_limited') return 'too_often';
  return extra?.['rejected'] === 'too_many_revisions' ? 'spent' : 'other_total';
};

const viewOf = (
  deps: PortalDeps,
  token: string,
  found: Review,
  typed: Typed = new Map(),
): ReviewView => {
  const { open, state } = found;
  const asTyped = open ? withQuantities(deps.catalog, state, quantitiesIn(typed)) : state;
  const { lines, totals } = 'faults' in asTyped ? state : asTyped;
  return {
    review: found,
    token,
    products: open ? deps.catalog.byId(state.lines.map(({ product_id }) => product_id)) : new Map(),
    typed,
    faults: NO_FAULTS,
    priced: { lines: new Map(lines.map((line) => [line.line_id, line])), totals },
  };
};

const later = (reply: FastifyReply, { retryAfterS }: Refusal): FastifyReply =>
  retryAfterS === undefined ? reply : reply.header('retry-after', String(retryAfterS));

const refused = (reply: FastifyReply, { code, detail }: Refusal): Promise<FastifyReply> =>
  code === 'resource_not_found'
    ? notFoundPage(reply, detail)
    : sendErrorPage(reply, 503, UNAVAILABLE);
