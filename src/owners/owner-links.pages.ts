/** The links and the campaigns of a promoter: numbers with rates, copy, QR and the end of a link. */
import type { FastifyInstance } from 'fastify';
import { html } from 'hono/html';
import type { App } from '#src/registries/app.ts';
import { momentText } from '#src/shared/money.ts';
import { done, isRefusal, refuse } from '#src/shared/outcome.ts';
import { serveActs, type PageRequest } from '#src/web/acts.ts';
import { facts, type Html } from '#src/web/layout.ts';
import {
  actForm,
  badge,
  dataTable,
  filters,
  type FormState,
  hrefWith,
  nextPage,
  timeOf,
  REASON,
} from '#src/web/parts.ts';
import { acceptPeople, type SignedIn, type Typed } from '#src/web/person-admission.ts';
import {
  type Answer,
  all,
  copied,
  fileLink,
  homeOf,
  mayAct,
  ownerOfPage,
  ownerPage,
  FULL_PAGE,
  periodLinks,
  periodOf,
  periodQuery,
  type Read,
  reader,
  serveFile,
} from './owner-frame.pages.ts';
import {
  comparedText,
  countAll,
  countBy,
  countDays,
  fiveNumbers,
  linkName,
  NUMBER_HEADS,
  numbersLine,
  numbersTable,
  visitsByDay,
} from './owner-numbers.pages.ts';
import { agentNames, historySection, readHistory } from './owner-words.pages.ts';

type Link = Answer<'listLinks'>['data'][number];

const STATUSES = {
  active: badge('active', 'good'),
  disabled: badge('stopped', 'bad'),
  expired: badge('expired', 'warn'),
} as const;

const orders = (owner: string, isNewest: boolean): Html =>
  filters('Order', [
    { text: 'Most visits', href: `${homeOf(owner)}/links`, isCurrent: !isNewest },
    { text: 'Newest', href: `${homeOf(owner)}/links?by=newest`, isCurrent: isNewest },
  ]);

const newestTable = (owner: string, { data, next_before }: Answer<'listLinks'>): Html =>
  html`${dataTable(
    'Links, newest first',
    [{ head: 'Link' }, { head: 'Address' }, { head: 'State' }, { head: 'Made' }],
    {
      rows: data.map(({ id, name = 'A link', campaign, short_url, status, created_at }) => [
        html`<a href="${homeOf(owner)}/links/${id}">${name}</a>${campaign && html`<span class="hint">${campaign}</span>`}`,
        copied(short_url),
        STATUSES[status],
        timeOf(created_at),
      ]),
      empty: 'Your agents have made no link yet.',
    },
  )}${nextPage(
    next_before === null
      ? undefined
      : hrefWith(`${homeOf(owner)}/links`, { by: 'newest', before: String(next_before) }),
    'Older links',
  )}`;

const LINKS_SHOWN = 100;

const showNewest = async (
  { person, read, owner }: { person: SignedIn; read: Read; owner: string },
  { before }: Typed,
) => {
  const listed = await read('listLinks', { owner_id: owner, ...markOf(before) });
  if (isRefusal(listed)) return listed;
  return done(
    ownerPage({
      you: person.you,
      owner,
      tab: '/links',
      title: 'Links',
      main: html`${orders(owner, true)}${newestTable(owner, listed.value)}`,
    }),
  );
};

/** A place in a list that an address names; one that cannot be is the first. */
export const markOf = (before: string | undefined): { before?: number } =>
  /^\d{1,15}$/.test(before ?? '') ? { before: Number(before) } : {};

const qrOf = ({ status, qr_svg_url, qr_png_url }: Link): Html =>
  status === 'active'
    ? html`<p><img class="qr" src="${new URL(qr_svg_url).pathname}" alt="QR code of the link" width="160" height="160"></p>
<p><a href="${new URL(qr_png_url).pathname}" download>QR code as PNG</a> <a href="${new URL(qr_svg_url).pathname}" download>as SVG</a></p>`
    : html`<p class="quiet">There is no QR code: the link leads nowhere any more.</p>`;

const linkFacts = (link: Link, agent: string): Html =>
  facts([
    ['State', STATUSES[link.status]],
    ['Made by', agent],
    ['Made', momentText(link.created_at)],
    ...(link.campaign === undefined ? [] : [['Campaign', link.campaign] as const]),
    ...(link.channel === undefined ? [] : [['Channel', link.channel] as const]),
    ...(link.expires_at === undefined ? [] : [['Ends', momentText(link.expires_at)] as const]),
  ]);

const aside = (
  { you }: SignedIn,
  { owner, link, form }: { owner: string; link: Link; form: FormState },
): Html =>
  html`<aside><h2>Address</h2><p>${copied(link.short_url)}</p>
<p class="quiet">Beside the link: ${link.disclosure}</p>${qrOf(link)}
${
  link.status === 'active' && mayAct(you)
    ? actForm(
        you,
        { path: `${homeOf(owner)}/links/${link.id}`, state: form },
        {
          name: 'stop',
          title: 'Stop this link',
          text: 'Final: the link leads nowhere any more. Its history and its numbers stay.',
          fields: [REASON],
          button: 'Stop the link',
          isDangerous: true,
        },
      )
    : ''
}</aside>`;

const NO_LINK = refuse('resource_not_found', 'There is no such link.');

const showLink = async ({ app, person, params, query }: PageRequest, form: FormState) => {
  const owner = ownerOfPage(person, params);
  if (isRefusal(owner)) return owner;
  const owner_id = owner.value;
  const { id = '' } = params;
  if (!/^lnk_[0-9a-z]{24}$/.test(id)) return NO_LINK;
  const read = reader(app, person);
  const period = periodOf(query, app.now());
  const answers = await all({
    record: read('readOwnerRecord', { owner_id, id }),
    report: countDays(read, owner_id, period, { link_id: id }),
    events: readHistory(read, owner_id, id),
    agents: read('listAgents', { owner_id, ...FULL_PAGE }),
  });
  if (isRefusal(answers)) return answers;
  const { record, report, events, agents } = answers.value;
  const { link } = record;
  if (!link) return NO_LINK;
  const nameOf = agentNames(agents.data);
  const path = `${homeOf(owner_id)}/links/${id}`;
  return done(
    ownerPage({
      you: person.you,
      owner: owner_id,
      tab: '/links',
      title: link.name ?? 'A link',
      above: html`<a href="${homeOf(owner_id)}/links">Links</a>`,
      form,
      main: html`<div class="beside"><div>${linkFacts(link, nameOf(link.agent_id))}
<section><h2>Numbers of ${period.text}</h2>${periodLinks(path, period)}
${fiveNumbers(owner_id, period, report)}<p class="quiet">${comparedText(report)}</p>
${visitsByDay(owner_id, period, report)}</section>
${historySection(events, nameOf)}</div>${aside(person, { owner: owner_id, link, form })}</div>`,
    }),
  );
};

const campaignRoutes = (scope: FastifyInstance, app: App): void => {
  serveActs(scope, app, {
    path: '/o/:owner/campaigns',
    acts: {},
    async show({ person, params, query }) {
      const owner = ownerOfPage(person, params);
      if (isRefusal(owner)) return owner;
      const period = periodOf(query, app.now());
      const counted = { period, by: 'campaign', limit: LINKS_SHOWN } as const;
      const report = await countBy(reader(app, person), owner.value, counted);
      if (isRefusal(report)) return report;
      const path = `${homeOf(owner.value)}/campaigns`;
      const name = ({ dimensions: { campaign } }: { dimensions: { campaign?: string | null } }) =>
        campaign
          ? html`<a href="${hrefWith(`${homeOf(owner.value)}/links`, { ...periodQuery(period), campaign })}">${campaign}</a>`
          : 'Without a campaign';
      return done(
        ownerPage({
          you: person.you,
          owner: owner.value,
          tab: '/campaigns',
          title: 'Campaigns',
          main: html`${periodLinks(path, period)}${numbersTable(
            {
              caption: `Campaigns in ${period.text}, most visits first`,
              head: 'Campaign',
              name,
              empty: `There was nothing in ${period.text}.`,
            },
            report.value.data,
          )}${fileLink(path, periodQuery(period))}`,
        }),
      );
    },
  });
  for (const [name, by] of [
    ['links', 'link_id'],
    ['campaigns', 'campaign'],
  ] as const)
    serveFile(scope, app, {
      path: `/o/:owner/${name}.csv`,
      head: [...(by === 'link_id' ? ['link', 'campaign', 'id'] : ['campaign']), ...NUMBER_HEADS],
      async rows(read, owner, query) {
        const rows = await countAll(read, owner, { period: periodOf(query, app.now()), by });
        if (isRefusal(rows)) return rows;
        return done(
          rows.value.map(({ dimensions, names, metrics }) => [
            ...(by === 'link_id' ? [names?.link_id, names?.campaign] : []),
            dimensions[by],
            ...numbersLine(metrics),
          ]),
        );
      },
    });
};

/** Serves the links and the campaigns of a promoter. */
export const ownerLinkRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  await acceptPeople(scope, app);
  serveActs(scope, app, {
    path: '/o/:owner/links',
    acts: {},
    async show({ person, params, query }) {
      const found = ownerOfPage(person, params);
      if (isRefusal(found)) return found;
      const owner = found.value;
      const read = reader(app, person);
      if (query['by'] === 'newest') return showNewest({ person, read, owner }, query);
      const period = periodOf(query, app.now());
      const { campaign } = query;
      const report = await countBy(read, owner, {
        period,
        by: 'link_id',
        limit: LINKS_SHOWN,
        ...(campaign && { campaign }),
      });
      if (isRefusal(report)) return report;
      const path = `${homeOf(owner)}/links`;
      return done(
        ownerPage({
          you: person.you,
          owner,
          tab: '/links',
          title: campaign ? `Links of ${campaign}` : 'Links',
          main: html`${orders(owner, false)}${periodLinks(path, period)}${numbersTable(
            {
              caption: `Links in ${period.text}, most visits first`,
              head: 'Link',
              name: linkName(owner, period),
              empty: html`No link had anything in ${period.text}. <a href="${path}?by=newest">All links, newest first</a>`,
            },
            report.value.data,
          )}
${report.value.page.has_more ? html`<p>These are the ${LINKS_SHOWN} with most visits. The file has all.</p>` : ''}
${fileLink(path, periodQuery(period))}`,
        }),
      );
    },
  });

  serveActs(scope, app, {
    path: '/o/:owner/links/:id',
    acts: {
      stop: {
        operation: 'disableLink',
        input: ({ reason }, { owner, id }) => ({ owner_id: owner, link_id: id, reason }),
        done: 'The link is stopped.',
      },
    },
    show: showLink,
  });

  campaignRoutes(scope, app);
};
