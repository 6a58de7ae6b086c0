/** The search in the header of those who work on records. */
import type { FastifyInstance } from 'fastify';
import { html } from 'hono/html';
import type { DeskOperations } from '#contracts/registries/desk.ts';
import type { App } from '#src/registries/app.ts';
import { type Html, type Page, sendPage, type You } from '#src/web/layout.ts';
import { type Content, dataTable } from '#src/web/parts.ts';
import { acceptPeople, answerRefusal, formOf, signedIn } from '#src/web/person-admission.ts';

type Answer = ReturnType<DeskOperations['searchDesk']['output']['parse']>;
type Found = Answer['data'][number];

const KINDS: Readonly<Record<Found['kind'], string>> = {
  handoff: 'List or request',
  lead: 'Lead',
  agent: 'Agent',
  owner: 'Promoter',
  product: 'Product',
};

const pathOf = ({ kind, id }: Found): string => {
  if (kind === 'owner') return `/desk/owners/${id}`;
  return kind === 'product' ? `/desk/catalog/${id}` : `/desk/r/${id}`;
};

const row = (found: Found): Content[] => {
  const { kind, id, name, reference, owner_id, by } = found;
  return [
    html`<a href="${pathOf(found)}" data-item><bdi>${name ?? reference ?? id}</bdi></a>${
      name !== undefined &&
      reference !== undefined &&
      html`<span class="hint sku">${reference}</span>`
    }`,
    KINDS[kind],
    owner_id ?? '',
    by,
  ];
};

const COLUMNS = [{ head: 'Record' }, { head: 'Kind' }, { head: 'Promoter' }, { head: 'Found by' }];

const nothing = (text: string, { mistyped }: Answer): Html =>
  mistyped
    ? html`<q>${text}</q> looks like a reference, and its last character does not fit. Compare it with what you were given.`
    : html`Nothing is found for <q>${text}</q>. A search finds a reference, an id or its beginning, an agent, a promoter, a SKU, and the companies and titles of the newest records.`;

const searchPage = (you: You, text: string, answer: Answer | undefined): Page => ({
  title: 'Search',
  you,
  isWide: true,
  script: 'desk.js',
  main: html`<header class="head"><h1>Search</h1></header>
${
  answer
    ? dataTable(`Found for “${text}”`, COLUMNS, {
        rows: answer.data.map(row),
        empty: nothing(text, answer),
      })
    : html`<p class="lede">Type a reference, a company, a title, an id or a SKU into the search above.</p>`
}`,
});

/** Serves `/desk/search`. A reference or an id of one record leads to its page at once. */
export const searchRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  await acceptPeople(scope, app);
  scope.get('/desk/search', async (request, reply) => {
    const person = await signedIn(request, reply, app);
    return person ? sendPage(reply, 200, searchPage(person.you, '', undefined)) : reply;
  });
  scope.post('/desk/search', async (request, reply) => {
    const person = await signedIn(request, reply, app);
    if (!person) return reply;
    const text = (formOf(request)['text'] ?? '').trim();
    if (text === '') return reply.redirect('/desk/search', 303);
    const found = await app.desk.perform(person.admission, 'searchDesk', { input: { text } });
    if (!found.ok) return answerRefusal(request, reply, { app, refusal: found });
    const [one, another] = found.value.data;
    return one && !another && (one.by === 'reference' || one.by === 'id')
      ? reply.redirect(pathOf(one), 303)
      : sendPage(reply, 200, searchPage(person.you, text, found.value));
  });
};
