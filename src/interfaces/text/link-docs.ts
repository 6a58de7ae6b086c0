import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ATTRIBUTION_PARAMETER,
  ATTRIBUTION_TYPE,
  type AttributionClaims,
  VIA_PARAMETER,
} from '#contracts/attribution-token.ts';
import { LIMITS } from '#contracts/limits.ts';
import { KEYS_PATH } from '../a2a/card.ts';
import { code, table, typescript } from './markdown.ts';

const EXAMPLE = readFileSync(
  join(import.meta.dirname, '../../../contracts/examples/read-attribution-token.ts'),
  'utf8',
);

const MEANINGS: Record<keyof AttributionClaims, string> = {
  owner_id: 'the promoter whose link it is',
  agent_id: 'the agent that created the link',
  link_id: 'the link',
  target: `what the page shows: ${code('kind')} is product, category or search, ${code('ref')} is the product id, the category or the words`,
  visit_id: `the id of the event ${code('VisitRecorded')} in the log`,
  iat: 'issue time, in seconds since 1970',
  exp: `end of the attribution window that the promoter had at the click, in seconds since 1970; ${LIMITS.ATTRIBUTION_DAYS} days after the click by default, at most ${LIMITS.ATTRIBUTION_DAYS_MAX}`,
};

/** The page about short links as Markdown: where they lead, and the format of the attribution token. */
export const linksMarkdown = (origin: string): string =>
  [
    '# Links',
    `A short link (${code(`${origin}/l/{code}`)}) records the visit and redirects to a page of this service: ` +
      `a product (${code('/p/{id}')}), a category (${code('/c/{name}')}) or a search (${code('/s?q=…')}). The address has the ` +
      `${code('utm_…')} parameters of the link, and nothing that a visitor or a mail program adds to the short link.`,
    'The page shows the product or the products with picture, price tiers, order rule, stock and lead time, who promotes it, and the ' +
      'disclosure. Its Open Graph and Twitter tags name the short link, so that a page that is shared again is attributed.',
    `A link that has expired, or whose product is withdrawn, leads to its ${code('expired_target')}, otherwise to the fallback target of its ` +
      'promoter, which staff set in the profile of the promoter. A disabled link leads to the fallback as well, but its visits are not recorded and credit no promoter. ' +
      'Without a fallback, disabled and expired links answer 410, and a withdrawn product has a page with alternatives.',
    'On a product page a person can add the product to a list, which is in the address until the person reviews it. Then it is a list like ' +
      `a handoff, which only the person can send, and counts as ${code('lists_created')}. The token is its source. An agent cannot read it.`,
    '## Attribution token',
    `If the visit counts as a valid click, the address also has the parameter ${code(ATTRIBUTION_PARAMETER)}: a statement, signed by ` +
      'this service, that this visit of this link led there. There is none for previews, bots, prefetches, requests by HEAD and visits ' +
      'beyond the limit of a network address, and none where the address would be longer than ' +
      `${LIMITS.URL_BYTES_MAX} bytes. Such visits credit no promoter; their address has the code of the link instead (${code(VIA_PARAMETER)}), so that the page can ` +
      'name the promoter and preview programs show the short link.',
    `The token is a compact JWS (RFC 7515) with the header ${code('alg')} EdDSA, ${code('typ')} ${ATTRIBUTION_TYPE} and ${code('kid')}, ` +
      `one of the keys at ${origin}${KEYS_PATH}. That key signs nothing else. The payload is JSON:`,
    table(
      ['Claim', ''],
      Object.entries(MEANINGS).map(([name, meaning]) => [code(name), meaning]),
    ),
    'It has no campaign, no tags and nothing about the visitor; no cookie is set. Later versions can add claims: ignore those that ' +
      'you do not know. A person who forwards the address forwards the token: it proves that a click took place, not who made it. If an address ' +
      'has the parameter more than once, the first one counts.',
    'Download the keys, and check the token of an address offline:',
    typescript(EXAMPLE),
  ].join('\n\n');
