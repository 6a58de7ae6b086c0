/** Pages with acts: each button performs an operation of the desk through the pipeline, and shows its page again. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PROBLEMS } from '#contracts/problems.ts';
import type { DeskOperationId } from '#contracts/registries/desk.ts';
import type { App } from '#src/registries/app.ts';
import { isRefusal, type Outcome, type Refusal } from '#src/shared/outcome.ts';
import { withRetryAfter } from './error-pages.ts';
import { type Page, sendPage } from './layout.ts';
import {
  answerRefusal,
  formOf,
  newKey,
  pagePath,
  type SignedIn,
  signedIn,
  type Typed,
} from './person-admission.ts';
import { fieldId, type FormState, NO_FORM } from './parts.ts';
import { rememberFailure } from './problem.ts';

export type PageAct = {
  operation: DeskOperationId;
  /** Makes the input of the form, without its idempotency key, or says why it cannot. */
  input(sent: Typed, params: Typed): object | Refusal;
  /** What the page says once it is done. */
  done: string;
  /** The name of the form's field to which a pointer of a fault leads. Default: its first member. */
  fieldOf?(pointer: string, sent: Typed): string;
  /** Where the act leads; default: its page. */
  to?(params: Typed): string;
  /** Makes a page of what the act answers, where that is shown only once. */
  shows?(person: SignedIn, value: unknown, params: Typed): Page;
};

/** A page that a person asks for. */
export type PageRequest = { app: App; person: SignedIn; params: Typed; query: Typed };

type ActPage = {
  /** The page's route; that of an act has its name as one more segment. */
  path: string;
  acts: Readonly<Record<string, PageAct>>;
  /** Makes the page from what the person may read. */
  show(asked: PageRequest, form: FormState): Promise<Outcome<Page>>;
};

type Asked = { Params: Typed; Querystring: Typed };

const PROPOSED =
  'Proposed. Nothing has changed yet: it waits for the approval of another person of staff.';

/** What the page says of the act that led to it. */
const saidOf = (acts: ActPage['acts'], { done, proposed }: Typed): string | undefined => {
  if (done !== undefined && Object.hasOwn(acts, done)) return acts[done]?.done;
  return proposed !== undefined && Object.hasOwn(acts, proposed) ? PROPOSED : undefined;
};

/** The query of a page as texts, each parameter once. */
const queryOf = ({ query }: FastifyRequest): Typed =>
  Object.fromEntries(
    Object.entries(query as Record<string, string | string[]>).map(([name, value]) => [
      name,
      [value].flat().at(-1) ?? '',
    ]),
  );

/** The address to which a done act leads, with what it did. */
const leadsTo = (request: FastifyRequest<Asked>, name: string, { to }: PageAct, value: unknown) => {
  const { done: _before, proposed: _other, ...query } = queryOf(request);
  const isProposed = typeof value === 'object' && value !== null && 'proposed' in value;
  const said = { [isProposed ? 'proposed' : 'done']: name };
  const path = to?.(request.params) ?? pagePath(request);
  return `${path}?${new URLSearchParams({ ...query, ...said }).toString()}`;
};

/** A member's name as people read it. */
const wordsOf = (name: string): string => {
  const words = name.replaceAll(/[_-]/g, ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};

const firstMember = (pointer: string): string => pointer.split('/')[1] ?? '';

/** The form as it was sent, with the refusal. */
const refusedForm = (
  { name, act: { fieldOf = firstMember }, sent }: { name: string; act: PageAct; sent: Typed },
  { code, detail, errors = [] }: Refusal,
): FormState => {
  const { status, title } = PROBLEMS[code];
  const faults = errors.map(({ pointer, detail: text }) => {
    const of = fieldOf(pointer, sent);
    return [fieldId(name, of), `${wordsOf(of)}: ${text}`] as const;
  });
  const { key } = sent;
  return {
    act: name,
    typed: sent,
    faults: new Map(faults),
    // What was decided differently needs a key of its own.
    ...(status >= 500 && key !== undefined && { key }),
    refused: { title, detail, faults },
  };
};

/** Refusals that have a page of their own: the sign-in, and that of another role. */
const hasOwnPage = ({ code }: Refusal): boolean =>
  code === 'fresh_sign_in_needed' || code === 'role_missing' || code.startsWith('credential_');

/** Serves a page of people and the buttons on it. GET changes nothing. What was typed is shown again after a refusal. */
export const serveActs = (
  scope: FastifyInstance,
  app: App,
  { path, acts, show }: ActPage,
): void => {
  scope.get<Asked>(path, async (request, reply) => {
    const person = await signedIn(request, reply, app);
    if (!person) return reply;
    const query = queryOf(request);
    const { kept } = person;
    const said = kept
      ? 'You are signed in. What you typed is below; nothing was done yet.'
      : saidOf(acts, query);
    const form: FormState = {
      ...NO_FORM,
      ...(kept && { act: kept['act'], typed: kept }),
      ...(said !== undefined && { said }),
    };
    const shown = await show({ app, person, params: request.params, query }, form);
    return shown.ok
      ? sendPage(reply, 200, shown.value)
      : answerRefusal(request, reply, { app, refusal: shown });
  });

  for (const [name, act] of Object.entries(acts)) {
    const route = { config: { isButton: true } };
    scope.get(`${path}/${name}`, route, async (request, reply) =>
      reply.redirect(pagePath(request), 303),
    );
    scope.post<Asked>(`${path}/${name}`, route, (request, reply) =>
      performAct(request, reply, { app, name, act, show }),
    );
  }
};

const performAct = async (
  request: FastifyRequest<Asked>,
  reply: FastifyReply,
  { app, name, act, show }: { app: App; name: string; act: PageAct; show: ActPage['show'] },
): Promise<FastifyReply> => {
  const person = await signedIn(request, reply, app);
  if (!person) return reply;
  const sent = formOf(request);
  const { params } = request;
  const input = act.input(sent, params);
  const outcome = isRefusal(input)
    ? input
    : await app.desk.perform(person.admission, act.operation, {
        input: { ...input, idempotency_key: sent['key'] ?? newKey() },
      });
  if (outcome.ok)
    return act.shows
      ? sendPage(reply, 200, act.shows(person, outcome.value, params))
      : reply.redirect(leadsTo(request, name, act, outcome.value), 303);
  const answered = { app, refusal: outcome };
  if (hasOwnPage(outcome)) return answerRefusal(request, reply, answered);
  const form = refusedForm({ name, act, sent }, outcome);
  const shown = await show({ app, person, params, query: queryOf(request) }, form);
  if (!shown.ok) return answerRefusal(request, reply, answered);
  rememberFailure(request, outcome.code, outcome.cause);
  return sendPage(withRetryAfter(reply, outcome), PROBLEMS[outcome.code].status, shown.value);
};
