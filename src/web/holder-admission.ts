/** Admits requests to pages behind a link, and answers the wrong ones with a page for each kind of link. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '#src/registries/app.ts';
import type { Admission, HolderCaller } from '#src/shared/call.ts';
import { clientKindOf } from '#src/shared/client.ts';
import { type Outcome, type Refusal, refuse } from '#src/shared/outcome.ts';
import {
  acceptForms,
  arrivalOf,
  httpRefusal,
  isForeign,
  refuseMethod,
  sendProblem,
} from './http.ts';
import {
  FOREIGN,
  notFoundPage,
  sendErrorPage,
  sendRefusal,
  withRetryAfter,
} from './error-pages.ts';
import { PRIVATE_HEADERS, type Page, sendPage } from './layout.ts';

/** What a page behind a link says about itself, by what the link is for. */
const WORDS = {
  list: { missing: 'There is no such list.', alone: 'A review link is for its buyer alone' },
  request: { missing: 'There is no such request.', alone: 'A request is for its buyer alone' },
  quotation: {
    missing: 'There is no such quotation.',
    alone: 'A quotation is for its buyer alone',
  },
  application: {
    missing: 'There is no such application.',
    alone: 'An application is for its applicant alone',
  },
  mailbox: {
    missing: 'There is no such mailbox to confirm.',
    alone: 'The link to confirm a mailbox is for its owner alone',
  },
  ownData: {
    missing: 'There is no such page about personal data.',
    alone: 'A page about personal data is for its person alone',
  },
} as const;

/** Refuses requests with a credential: they come from agents, which may neither act for a person nor read their pages. */
const agentRefusal = (
  { headers }: FastifyRequest,
  { alone }: { alone: string },
): Refusal | undefined =>
  headers.authorization === undefined
    ? undefined
    : refuse('boundary_forbidden', `${alone}: no credential is taken here. Nothing was changed.`);

export type ByToken = { Params: { token: string } };
export type HolderAdmission = Admission<HolderCaller>;

const TOO_OFTEN = {
  title: 'Too much at once',
  detail: 'This link was used too often within a minute. Nothing was changed.',
};

/** The request of an act as that of a read within it: the act is audited, not the read. */
export const insideOf = ({ caller, arrival: { surface, requestId } }: HolderAdmission) => ({
  caller,
  surface,
  requestId,
});

export type Admissions = {
  /** The admission of a request; throws when the request has none. */
  of(request: FastifyRequest): HolderAdmission;
  /** Audits the refusal of a request that ends without an operation. */
  conclude(request: FastifyRequest, refusal: Refusal): void;
  /** Counts an act with the link of a request. Answers a page if it cannot be performed now; undefined if it can. */
  refuseNow(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> | undefined;
};

type Served<Button extends string, Shown> = Pick<Admitting, 'linkTo'> & {
  buttons: Readonly<Record<Button, string>>;
  /** The operation that reads what the page shows. */
  otherwise: string;
  read(admission: HolderAdmission): Promise<Outcome<Shown>>;
  page(token: string, shown: Shown, request: FastifyRequest): Page;
  /** The path of the page. */
  path(token: string): string;
  press(pressed: Pressed<Button>, reply: FastifyReply): Promise<FastifyReply>;
};

type Pressed<Button> = { button: Button; admission: HolderAdmission; request: FastifyRequest };

/**
 * Serves the page behind a link, and its buttons by the last segment of their paths, within the limit of the link. GET
 * changes nothing, because mail scanners follow links: it shows the page, also when the page of an act is reloaded.
 */
export const servePage = async <Button extends string, Shown>(
  scope: FastifyInstance,
  app: App,
  { read, page, path, press, ...admitted }: Served<Button, Shown>,
): Promise<void> => {
  const admissions = await admitHolders(scope, app, admitted);
  scope.get<ByToken>('/:token', async (request, reply) => {
    const shown = await read(admissions.of(request));
    return shown.ok
      ? sendPage(reply, 200, page(request.params.token, shown.value, request))
      : sendRefusal(reply, shown);
  });
  for (const button of Object.keys(admitted.buttons) as Button[]) {
    scope.get<ByToken>(`/:token/${button}`, async ({ params }, reply) =>
      reply.redirect(path(encodeURIComponent(params.token)), 303),
    );
    scope.post(
      `/:token/${button}`,
      (request, reply) =>
        admissions.refuseNow(request, reply) ??
        press({ button, admission: admissions.of(request), request }, reply),
    );
  }
};

type Admitting = {
  /** What the links of the scope are for. */
  linkTo: keyof typeof WORDS;
  /** Names the operation that a refusal is audited as, by the last segment of the path; `otherwise` for other paths. */
  buttons: Readonly<Record<string, string>>;
  otherwise: string;
};

/** Admits every request of the scope, whose bodies are forms; refuses agents and forms of other sites. */
export const admitHolders = async (
  scope: FastifyInstance,
  { holders, origin }: App,
  { linkTo, buttons, otherwise }: Admitting,
): Promise<Admissions> => {
  const words = WORDS[linkTo];
  acceptForms(scope);
  const exchangeOf = ({ routeOptions }: FastifyRequest): string =>
    buttons[routeOptions.url?.split('/').at(-1) ?? ''] ?? otherwise;

  const admissions = new WeakMap<FastifyRequest, HolderAdmission>();
  const conclude = (request: FastifyRequest, refusal: Refusal): void => {
    const admission = admissions.get(request);
    if (admission) holders.conclude(admission, exchangeOf(request), refusal);
  };
  scope.addHook('onRequest', async (request, reply) => {
    reply.headers(PRIVATE_HEADERS);
    const { token } = request.params as Partial<ByToken['Params']>;
    const sentBy = clientKindOf(request.headers);
    const arrival = { ...arrivalOf(request, 'portal'), credential: token, sentBy };
    const admitted = await holders.admit(arrival, { exchange: exchangeOf(request) });
    if (!admitted.ok) return sendRefusal(reply, admitted);
    if (token !== undefined) admissions.set(request, admitted.value);
    const refusal = agentRefusal(request, words);
    if (refusal) {
      conclude(request, refusal);
      return sendProblem(reply, refusal, origin());
    }
    // Pages under `no-referrer`, as these are, send `null` in browsers without Sec-Fetch-Site.
    if (!isForeign(request, [origin(), 'null'])) return undefined;
    conclude(request, refuse('origin_not_allowed', FOREIGN.detail));
    return sendErrorPage(reply, 403, FOREIGN);
  });
  scope.setNotFoundHandler(
    (_request, reply) =>
      refuseMethod(reply, origin()) ??
      notFoundPage(reply, `${words.missing} Check that the link is complete.`),
  );
  scope.addHook('onError', async (request, _reply, error) => conclude(request, httpRefusal(error)));
  const of = (request: FastifyRequest): HolderAdmission => {
    const admission = admissions.get(request);
    if (!admission) throw new Error('a page behind a link was reached without an admission');
    return admission;
  };
  return {
    conclude,
    of,
    refuseNow(request, reply) {
      const refusal = holders.charge(of(request), 'holder');
      if (!refusal) return undefined;
      conclude(request, refusal);
      if (refusal.code === 'overloaded') return sendRefusal(reply, refusal);
      return sendErrorPage(withRetryAfter(reply, refusal), 429, TOO_OFTEN);
    },
  };
};
