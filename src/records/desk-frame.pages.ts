/** What the pages of the desk have in common: their tabs, and who may open which. */
import { html } from 'hono/html';
import { ownerId } from '#contracts/fields.ts';
import { type DeskOperationId, deskOperations } from '#contracts/registries/desk.ts';
import { liveOwnerOf } from '#contracts/spaces.ts';
import { refuse } from '#src/shared/outcome.ts';
import type { Html, Page, You } from '#src/web/layout.ts';
import { type FormState, outcomeNotice } from '#src/web/parts.ts';

/** Whether one of the person's roles may perform an operation. The operation itself decides again. */
export const mayPerform = ({ roles }: Pick<You, 'roles'>, id: DeskOperationId): boolean => {
  const may: readonly string[] = deskOperations[id].roles;
  return roles.some((role) => may.includes(role));
};

/** The answer of a page to a person without the role staff. */
export const NOT_STAFF = refuse('role_missing', 'This page is for staff.');

/** Each page, and the operation without which it shows nothing. */
const TABS = [
  ['/desk', 'Inbox', 'listInbox'],
  ['/desk/catalog', 'Catalog', 'listProducts'],
  ['/desk/owners', 'Promoters', 'listOwners'],
  ['/desk/people', 'People', 'listPeople'],
  ['/desk/tokens', 'Tokens', 'listDeskTokens'],
] as const satisfies readonly (readonly [string, string, DeskOperationId])[];

type Framed = {
  you: You;
  tab: (typeof TABS)[number][0];
  title: string;
  /** Stands before the title: where the page belongs. */
  above?: Html;
  form?: FormState;
  main: Html;
  script?: Page['script'];
};

/** A page of the desk, with the way to the others. */
export const deskPage = ({
  you,
  tab,
  title,
  above,
  form,
  main,
  script = 'desk.js',
}: Framed): Page => ({
  title,
  you,
  isWide: true,
  script,
  main: html`<nav class="tabs" aria-label="Desk">${TABS.map(
    ([path, name, operation]) =>
      mayPerform(you, operation) &&
      html`<a href="${path}"${path === tab ? html` aria-current="page"` : ''}>${name}</a>\n`,
  )}</nav>
<header class="head">${above && html`<p class="eyebrow">${above}</p>`}<h1><bdi>${title}</bdi></h1></header>
${form && outcomeNotice(form)}${main}`,
});

/** A promoter with its page for staff; a test space has that of its promoter, and lists without a promoter have none. */
export const ownerLink = (owner: string): Html | string => {
  const live = liveOwnerOf(owner);
  return ownerId.safeParse(live).success
    ? html`<a href="/desk/owners/${live}">${owner}</a>`
    : owner;
};

/** An agent by name, with its page; records that buyers and visitors made have none. */
export const agentLink = (id: string, name = id): Html =>
  id.startsWith('agt_')
    ? html`<a href="/desk/r/${id}"><bdi>${name}</bdi></a>`
    : html`<bdi>${name}</bdi>`;
