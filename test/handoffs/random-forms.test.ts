/** Every form of the pages, with random values in its fields, leads to a page and never to a 5xx. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { seedOr } from '../support/seed.ts';
import { expectProved } from '../support/audit/export.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { confirmationPath } from '../support/world/confirmation.ts';
import { createShortLink } from '../support/world/links.ts';
import { people } from '../support/world/people.ts';
import { reviews } from '../support/world/reviews.ts';
import { STRANGE } from '../support/world/schema-arbitrary.ts';

const RUNS = 60;
const MINUTE_MS = 60_000;

let app: TestApp;
let key: string;
let world: ReturnType<typeof people>;
beforeAll(async () => {
  app = await testApp();
  world = people(app);
  ({ key } = await app.agent('acme'));
  await app.publish([feedProduct('MUG-1'), feedProduct('MUG-2')]);
  app.service.dispatcher.start();
});
afterAll(() => app.close());

const { handoff } = reviews({ app: () => app, key: () => key });

let made = 0;
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const sendForm = (url: string, payload: string, method: 'GET' | 'POST' = 'POST') => {
  made += 1;
  const remoteAddress = `198.51.${(made >> 8) & 255}.${made & 255}`;
  if (method === 'GET') return app.send({ method, url: `${url}?${payload}`, remoteAddress });
  return app.send({ method, url, payload, headers: FORM, remoteAddress });
};
const query = (fields: Record<string, string>) => new URLSearchParams(fields).toString();
const get = (url: string) => app.send({ method: 'GET', url });
/** Returns a mailbox to which nothing was sent, at a time when mail is allowed. */
const mailbox = (): string => {
  app.clock.advance(LIMITS.CONFIRMATION_WAIT_MINUTES * MINUTE_MS);
  made += 1;
  return `person${made}@shop.example`;
};
const landing = async (target: object): Promise<string> => {
  const { headers } = await get(`/l/${(await createShortLink(app, key, { target })).code}`);
  const { pathname, search } = new URL(headers['location'] ?? '');
  return pathname + search;
};

const profile = (address: string) => ({
  name: 'Ada',
  postal_address: '1 High Street',
  mailbox: address,
});

/** Makes a page of each kind; resolves to its path. */
const PAGES: Record<string, () => Promise<string>> = {
  search: () => landing({ kind: 'search', ref: 'mug' }),
  product: () => landing({ kind: 'product', ref: 'MUG-1' }),
  'chosen products': async () => {
    const { text } = await get('/s?q=mug');
    return `/list?items=${/prd_[0-9a-z]{24}/.exec(text)?.[0]}:4`;
  },
  review: async () => (await handoff()).path,
  'RFQ of a buyer': async () => {
    const { id, path } = await handoff();
    const contact = { name: 'Bea', email: mailbox(), consent: 'yes' };
    await sendForm(`${path}/send`, query({ list_revision: '1', ...contact }));
    return confirmationPath(app, { id });
  },
  'own data': async () => {
    const address = mailbox();
    await world.lead(key, address);
    await sendForm('/privacy', `mailbox=${address}`);
    return world.mailedPath(address);
  },
  'question for own data': async () => '/privacy',
  application: async () => '/apply',
  'mailed application': async () => {
    const address = mailbox();
    const agent = { owner_id: `owner${made}`, agent_name: 'Agent', purpose: 'Letters' };
    const fields = { ...profile(address), ...agent, scopes: 'links:write' };
    await sendForm('/apply', query(fields));
    return world.mailedPath(address);
  },
  'mailbox of an owner': async () => {
    const address = mailbox();
    await app.desk('POST', `/owners/owner${made}/profile`, profile(address));
    return world.mailedPath(address);
  },
};

/** What a person types into fields that are empty at first. */
const typed: Record<string, () => string> = {
  mailbox,
  email: mailbox,
  owner_id: () => `owner${made}`,
  quantity: () => '48',
};

type Form = { method: 'GET' | 'POST'; actions: string[]; fields: [name: string, value: string][] };

const attribute = (tag: string, name: string): string | undefined =>
  new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1]?.replaceAll('&amp;', '&');

const formsOf = (html: string): Form[] =>
  [...html.matchAll(/(<form\b[^>]*>)(.*?)<\/form>/gs)].map(([, head = '', body = '']) => ({
    method: attribute(head, 'method') === 'post' ? 'POST' : 'GET',
    actions: [head, ...(body.match(/<button\b[^>]*>/g) ?? [])].flatMap(
      (tag) => attribute(tag, 'action') ?? attribute(tag, 'formaction') ?? [],
    ),
    fields: (body.match(/<(?:input|select|textarea|button|option)\b[^>]*>/g) ?? []).flatMap(
      (tag) => {
        const name = attribute(tag, 'name');
        return name === undefined
          ? []
          : [[name, attribute(tag, 'value') || (typed[name]?.() ?? 'yes')]];
      },
    ),
  }));

const TYPED = [
  '12',
  '48',
  'Ada',
  'ada@shop.example',
  '+441632960000',
  'GB',
  'yes',
  'acme',
  ...STRANGE,
];
/** How the value of a field is sent: as it is, not at all, as another value, or beside another value. */
const change = fc.record({
  as: fc.constantFrom('is', 'is', 'is', 'none', 'other', 'both'),
  other: fc.oneof(fc.constantFrom(...TYPED), fc.string({ unit: 'binary', maxLength: 300 })),
});

const filled = (fields: Form['fields'], changes: { as: string; other: string }[]): string => {
  const sent = new URLSearchParams();
  fields.forEach(([name, value], n) => {
    const { as, other } = changes[n % changes.length] ?? { as: 'is', other: '' };
    if (as === 'is' || as === 'both') sent.append(name, value);
    if (as === 'other' || as === 'both') sent.append(name, other.toWellFormed());
  });
  return sent.toString();
};

describe('Random values in the forms', () => {
  it.each(Object.keys(PAGES))(
    'Random values in the forms of the page %s get a page and never a 5xx',
    async (kind) => {
      const seen = new Set<string>();
      let path = '';
      const pick = fc.record({
        form: fc.nat(20),
        action: fc.nat(20),
        changes: fc.array(change, { minLength: 1, maxLength: 12 }),
        tail: fc.constantFrom('', '', '', '&__proto__=1', '&=', '&%', '&a=%ff', '&quantity.1=1e9'),
      });
      const page = async (): Promise<Form[]> => {
        const forms = path === '' ? [] : formsOf((await get(path)).text);
        if (forms.length > 0) return forms;
        path = (await PAGES[kind]?.()) ?? '';
        return formsOf((await get(path)).text);
      };
      await fc.assert(
        fc.asyncProperty(pick, async ({ form: which, action: button, changes, tail }) => {
          const forms = await page();
          const form = forms[which % forms.length];
          if (!form) throw new Error(`${path} has no form`);
          const action = form.actions[button % form.actions.length] ?? path;
          const payload = filled(form.fields, changes) + tail;
          const { status, text } = await sendForm(action, payload, form.method);
          const hint = `${form.method} ${action} ${payload.slice(0, 600)}: ${text.slice(0, 300)}`;
          expect(status, hint).toBeLessThan(500);
          // A URL that is too long is refused before its page is known.
          if (status >= 400 && status !== 414) expect(text, hint).toMatch(/<title>[^<]/);
          seen.add(status < 400 ? 'done' : 'refused');
        }),
        { numRuns: RUNS, seed: seedOr(1) },
      );
      expect(seen).toContain('done');
    },
    120_000,
  );
});

it.each(['acme', 'desk'])('The history of %s verifies after random forms', (owner) =>
  expectProved(app, [owner]),
);
