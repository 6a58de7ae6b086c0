import { html } from 'hono/html';
import { LINK_DISCLOSURE } from '#contracts/boundaries.ts';
import { isTestSpace, liveOwnerOf } from '#contracts/spaces.ts';
import { type Parameter, withParameter } from './landing-address.ts';
import type { Promotion } from './promotion.ts';
import { type Html, notice, plural } from '#src/web/layout.ts';
import { LIST_PARAMETER, type ListLine, listValue } from './list-address.pages.ts';

/** What landing pages have in common, whichever products they show. */
export type PageSource = {
  promotion: Promotion | undefined;
  /** The list in the address. */
  lines: readonly ListLine[];
  /** Parameters of the address that the links of the page keep. */
  kept: readonly Parameter[];
  /** The public origin, without a slash at the end. */
  origin: string;
  /** Origins of other servers whose pictures are shown. */
  imageOrigins: readonly string[];
};

/** The same source with another list. */
export const withLines = (source: PageSource, lines: PageSource['lines']): PageSource => ({
  ...source,
  lines,
  kept: [
    ...source.kept.filter(([name]) => name !== LIST_PARAMETER),
    ...(lines.length > 0 ? [[LIST_PARAMETER, listValue(lines)] as const] : []),
  ],
});

/** A path of this service with the parameters that the links of the page keep. */
export const keeping = (path: string, { kept }: Pick<PageSource, 'kept'>): string =>
  kept.reduce(withParameter, path);

/** The same parameters as fields of a form. */
export const keptFields = ({ kept }: Pick<PageSource, 'kept'>): Html =>
  html`${kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}`;

/** The address of a product's picture, if it may be shown. */
export const pictureOf = (
  url: string | undefined,
  { imageOrigins }: Pick<PageSource, 'imageOrigins'>,
): string | undefined =>
  url !== undefined && imageOrigins.includes(URL.parse(url)?.origin ?? '') ? url : undefined;

/** The way to the list in the address; nothing if it is empty. */
export const listLink = (source: Pick<PageSource, 'kept' | 'lines'>): Html | '' =>
  source.lines.length === 0
    ? ''
    : html`<p><a href="${keeping('/list', source)}">Your list: ${source.lines.length}
${plural(source.lines.length, 'product', 'products')}</a></p>`;

export const promotionNotice = ({ promotion }: Pick<PageSource, 'promotion'>): Html | '' =>
  promotion
    ? html`${
        isTestSpace(promotion.ownerId) && notice('warn', html`<p>This is a test link.</p>`)
      }<p class="promise" id="promotion">Promoted by <strong>${liveOwnerOf(promotion.ownerId)}</strong>,
with the software agent ${promotion.agentName}. ${LINK_DISCLOSURE}</p>`
    : '';
