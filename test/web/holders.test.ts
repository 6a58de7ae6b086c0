/** What pages behind a link say to whoever may not use them: each names what its own link is for. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { testApp, type TestApp } from '../support/world/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.close());

/** Each kind of link: its pages, a button, and words of the other kinds that its refusals must not have. */
const KINDS = [
  {
    kind: 'a review link of a buyer',
    base: '/h',
    button: 'decline',
    missing: 'There is no such list.',
    unknown: 'There is no such list.',
    alone: 'A review link is for its buyer alone',
    foreign: /request|applica|mailbox|personal/i,
  },
  {
    kind: 'a link of a request of a buyer',
    base: '/rfq',
    button: 'confirm',
    missing: 'There is no such request.',
    unknown: 'There is no such request.',
    alone: 'A request is for its buyer alone',
    foreign: /list|review|applica|mailbox|personal/i,
  },
  {
    kind: 'a link of an applicant',
    base: '/apply',
    button: 'not-me',
    missing: 'There is no such application.',
    unknown: 'This link is over, or not complete. An application is',
    alone: 'An application is for its applicant alone',
    foreign: /list|review|buyer|mailbox|personal/i,
  },
  {
    kind: 'a link of an owner',
    base: '/mailbox',
    button: 'confirm',
    missing: 'There is no such mailbox to confirm.',
    unknown: 'This link is over, or not complete, or a later message',
    alone: 'The link to confirm a mailbox is for its owner alone',
    foreign: /list|review|buyer|applica|personal/i,
  },
  {
    kind: 'a link of a person',
    base: '/privacy',
    button: 'refuse',
    missing: 'There is no such page about personal data.',
    unknown: 'This link is over, or not complete. A link works for an hour',
    alone: 'A page about personal data is for its person alone',
    foreign: /list|review|buyer|applica|mailbox/i,
  },
];

/** The text that an error page says; the frame of all pages has words of its own. */
const shownIn = (page: string): string => {
  const [, title = '', detail = ''] =
    /<h1>(.*?)<\/h1>\s*<p class="lede">(.*?)<\/p>/s.exec(page) ?? [];
  return `${title}: ${detail}`;
};

const post = (url: string, headers: Record<string, string> = {}) =>
  app.send({
    method: 'POST',
    url,
    payload: '',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });

describe('The pages behind a link', () => {
  it.each(KINDS)(
    'The pages behind a link name what is missing at another address ($kind)',
    async (page) => {
      const { status, text } = await app.send({ method: 'GET', url: `${page.base}/a/b/c` });
      expect(status).toBe(404);
      expect(shownIn(text)).toContain(`${page.missing} Check that the link is complete.`);
      expect(shownIn(text)).not.toMatch(page.foreign);
    },
  );

  it.each(KINDS)(
    'The pages behind a link name what an unknown link does not lead to ($kind)',
    async (page) => {
      const url = `${page.base}/${'0'.repeat(40)}`;
      for (const answer of [
        await app.send({ method: 'GET', url }),
        await post(`${url}/${page.button}`),
      ]) {
        expect(answer.status).toBe(404);
        expect(shownIn(answer.text)).toContain(page.unknown);
      }
    },
  );

  it.each(KINDS)(
    'The pages behind a link say whom they are for when an agent comes with a key ($kind)',
    async (page) => {
      for (const path of ['', `/${'1'.repeat(40)}`, '/a/b/c']) {
        const answer = await app.send({ method: 'GET', url: page.base + path, key: 'trb_any' });
        expect(answer.status, path).toBe(403);
        expect(answer.body).toMatchObject({
          code: 'boundary_forbidden',
          detail: `${page.alone}: no credential is taken here. Nothing was changed.`,
        });
      }
    },
  );

  it.each(KINDS)(
    'The pages behind a link refuse a form of another site in words for every link ($kind)',
    async (page) => {
      const sent = await post(`${page.base}/${'2'.repeat(40)}/${page.button}`, {
        'sec-fetch-site': 'cross-site',
      });
      expect(sent.status).toBe(403);
      expect(shownIn(sent.text)).toContain('Sent from another site');
      expect(shownIn(sent.text)).not.toMatch(page.foreign);
    },
  );

  it.each(KINDS)(
    'The pages behind a link refuse a link that is used too often in words for every link ($kind)',
    async (page) => {
      const url = `${page.base}/${'3'.repeat(40)}/${page.button}`;
      for (let acts = 0; acts < LIMITS.BUYER_ACTS_PER_MINUTE; acts += 1) await post(url);
      const over = await post(url);
      // A refused act of a list is answered with the list, which this link does not lead to.
      expect(over.status).toBe(page.base === '/h' ? 404 : 429);
      expect(shownIn(over.text)).not.toMatch(page.foreign);
    },
  );
});
