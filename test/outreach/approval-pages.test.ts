/** What people do with outreach on its page: edit, decide, cancel, and say what became of it. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { testApp, type TestApp } from '../support/world/app.ts';
import { type Browsing, invite, settled, signedInAs } from '../support/world/browsing.ts';
import { outreachActs } from '../support/world/outreach-acts.ts';
import { configure, post, proposed } from '../support/world/outreach.ts';

let app: TestApp;
let key: string;
let ann: Browsing;
let bea: Browsing;
beforeAll(async () => {
  app = await testApp({ OUTREACH_PER_MINUTE: '100000' });
  await configure(app, 'acme');
  ({ key } = await app.agent('acme'));
  ann = await signedInAs(app, await invite(app, ['owner'], { owners: ['acme'] }));
  bea = await signedInAs(app, await invite(app, ['owner'], { owners: ['acme'] }));
});
afterAll(() => app.close());

const waiting = async (over: object = {}): Promise<string> => {
  const { id } = await proposed(app, key, 'requestSocialPost', post(over));
  await settled(app);
  return `/approvals/${id}`;
};
/** Presses a button of a page, and reads the page that it leads to. */
const act = async (
  person: Browsing,
  page: string,
  [name, form]: [string, Record<string, string>],
) => {
  const pressed = await person.press(page, `${page}/${name}`, form);
  if (pressed.status !== 303) return pressed;
  await settled(app);
  return person.get(pressed.to ?? '');
};

it('The page of a proposal has its text to edit, and the edit is for another person to approve', async () => {
  const page = await waiting({ text: 'One\nTwo' });
  expect((await ann.get(page)).text).toContain('rows="8">One\nTwo</textarea>');
  const text = 'Six mugs.\r\nPay\u00adPal is fine.';
  const edited = await act(ann, page, ['revise', { text }]);
  expect(edited.text).toContain('The new text is proposed.');
  expect(edited.text).toContain('Six mugs.\nPay⟨U+00AD⟩Pal is fine.');
  expect(edited.text).toContain('wrote this text, and cannot approve it');
  const own = await act(ann, page, ['approve', { note: 'Mine' }]);
  expect(own.status).toBe(403);
  expect(own.text).toContain('Another person must approve it');
  expect(own.text).toContain('Mine</textarea>');
  expect((await act(bea, page, ['approve', {}])).text).toContain('Your approval is recorded.');
});

it('The page of a proposal keeps a text that is refused, also that of a form from before another edit', async () => {
  const page = await waiting();
  const refused = await act(ann, page, ['revise', { text: 'See https://elsewhere.example' }]);
  expect(refused.text).toContain('See https://elsewhere.example</textarea>');
  expect(refused.text).toContain('<a href="#revise-text">');
  const { text: before } = await bea.get(page);
  const old = /name="content_sha256" value="([^"]+)"/.exec(before)?.[1] ?? '';
  await act(ann, page, ['revise', { text: 'Mugs are here.' }]);
  const late = await act(bea, page, ['revise', { content_sha256: old, text: 'Cups are here.' }]);
  expect(late.status).toBe(409);
  for (const shown of ['Mugs are here.', 'Cups are here.</textarea>'])
    expect(late.text).toContain(shown);
});

it('The page of a request of unknown outcome asks what became of it, and of one that waits to be sent whether to cancel it', async () => {
  const { log, ids, clock } = app.service.deps;
  const acts = outreachActs({ log, ids, now: clock.now });
  const id = await acts.propose('acme', { adapter: 'file' });
  await acts.approve('acme', id);
  const page = `/approvals/${id}`;
  await settled(app);
  expect((await ann.get(page)).text).toContain(`action="${page}/cancel"`);
  const { content_sha256: contentSha256 } = await acts.state('acme', id);
  const at = clock.now();
  await acts.command('acme', id, { type: 'Dispatch', at, contentSha256, until: at + 1 });
  await acts.command('acme', id, { type: 'LoseTrack', attempt: 1, reason: 'no answer' });
  await settled(app);
  expect((await ann.get('/approvals')).text).toContain('Nobody knows whether it was sent');
  const seen = { outcome: 'confirmed', evidence: 'The post is there' };
  const { text } = await act(ann, page, ['observe', seen]);
  expect(text).toContain('The outcome is recorded.');
  expect(text).not.toContain('<form method="post" action="/approvals/');
});

it('The page of a proposal has no text to edit for staff, who decide on the words of others', async () => {
  const page = await waiting();
  const staff = await signedInAs(app, await invite(app, ['staff']));
  const { text } = await staff.get(page);
  expect(text).not.toContain('Edit the text');
  const csrf = /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? '';
  expect((await staff.post(`${page}/revise`, { csrf, text: 'Mine' })).status).toBe(403);
});
