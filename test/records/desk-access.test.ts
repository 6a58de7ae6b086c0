/** The pages of the desk on promoters, people and tokens: who sees them, and what each may do there. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { momentText } from '#src/shared/money.ts';
import { testApp, type TestApp } from '../support/world/app.ts';
import {
  browsing,
  type Browsing,
  invite,
  type Invited,
  settled,
  signedInAs,
} from '../support/world/browsing.ts';
import { appendCopies } from '../support/world/copies.ts';

let app: TestApp;
let staff: Browsing;
let operator: Browsing;
let agentId: string;
let key: string;

beforeAll(async () => {
  app = await testApp();
  app.service.dispatcher.start();
  ({ agentId, key } = await app.agent('acme'));
  await app.desk('POST', '/owners/acme/profile', {
    name: 'Acme <Promotions>',
    postal_address: '1 High Street\nLondon',
    mailbox: 'office@acme.example',
  });
  staff = await signedInAs(app, await invite(app, ['staff']));
  operator = await signedInAs(app, await invite(app, ['operator']));
  await settled(app);
});
afterAll(() => app.close());

/** Presses a button of a page, and answers the page that follows. */
const act = async (
  browser: Browsing,
  [page, name]: readonly [page: string, name: string],
  form: Record<string, string> = {},
) => {
  const pressed = await browser.press(page, `${page}/${name}`, form);
  await settled(app);
  return pressed.to === undefined ? pressed : browser.get(pressed.to);
};

describe('Who may open which page of the desk', () => {
  const EXPECTED: Readonly<Record<string, readonly string[]>> = {
    '/desk': ['staff'],
    '/desk/owners': ['staff'],
    '/desk/owners/acme': ['staff'],
    '/desk/people': ['staff', 'auditor', 'operator', 'owner'],
    '/desk/tokens': ['auditor', 'operator'],
  };

  it.each(['staff', 'auditor', 'operator', 'privacy', 'owner'])(
    'A person with the role %s opens the pages of that role, and only those are tabs',
    async (role) => {
      const owners = role === 'owner' ? ['acme'] : [];
      const person = await signedInAs(app, await invite(app, [role], { owners }));
      for (const [page, roles] of Object.entries(EXPECTED)) {
        const { status, text } = await person.get(page);
        expect(status, page).toBe(roles.includes(role) ? 200 : 403);
        for (const tab of ['/desk/owners', '/desk/people', '/desk/tokens'])
          if (status === 200)
            expect(text.includes(`<a href="${tab}"`), `${tab} on ${page}`).toBe(
              EXPECTED[tab]?.includes(role),
            );
      }
      expect((await person.get('/home')).status).toBeLessThan(400);
    },
  );

  it('Somebody who is not signed in is led to the sign-in and back', async () => {
    const { to } = await browsing(app).get('/desk/tokens');
    expect(to).toBe('/signin?to=%2Fdesk%2Ftokens');
  });
});

describe('The promoters', () => {
  it('The list has the profile name, the agents and the last activity, and leads to each promoter', async () => {
    const { text } = await staff.get('/desk/owners');
    for (const shown of [
      'Acme &lt;Promotions&gt;',
      'href="/desk/owners/acme"',
      `href="/desk/r/${agentId}"`,
      'not confirmed',
      '0 min',
    ])
      expect(text).toContain(shown);
  });

  it('A promoter shows scopes, keys with their last use, outreach and people', async () => {
    const page = () => staff.get('/desk/owners/acme');
    expect((await page()).text).toContain('data-label="Last use">never');
    await app.send({ method: 'GET', url: '/api/affiliate/v1/connection', key });
    await app.service.deps.audit.flush();
    await settled(app);
    const { text } = await page();
    expect(text).not.toContain('data-label="Last use">never');
    for (const shown of ['products:read', 'office@acme.example', 'nobody: nothing can be proposed'])
      expect(text).toContain(shown);
    expect((await staff.get(`/desk/r/${agentId}`)).text).toMatch(/data-label="Last use"><time/);
  });

  it('Staff confirm the mailbox, and halt and resume outreach, with a reason each', async () => {
    const at = '/desk/owners/acme';
    expect((await act(staff, [at, 'confirm'], { reason: '' })).status).toBe(422);
    const confirmed = await act(staff, [at, 'confirm'], { reason: 'In the contract' });
    expect(confirmed.text).toContain('The mailbox is confirmed.');
    const halted = await act(staff, [at, 'halt'], { reason: 'Wrong <campaign>' });
    expect(halted.text).toContain('Wrong &lt;campaign&gt;');
    expect((await act(staff, [at, 'resume'], { reason: 'Mended' })).text).toContain(
      'Outreach is resumed.',
    );
  });

  it('Staff enter and change the profile of a promoter, and a refusal keeps what was typed', async () => {
    await app.agent('newcomer');
    await settled(app);
    const at = '/desk/owners/newcomer';
    const empty = await staff.get(at);
    expect(empty.text).toMatch(/<details class="act" open><summary>Enter the profile/);
    const typed = {
      name: 'New Shop',
      postal_address: '2 Low Street',
      mailbox: 'new@shop.example',
      attribution_days: '45',
      stale_stock_days: '3',
    };
    const refused = await act(staff, [at, 'set'], {
      ...typed,
      mailbox: 'new',
      attribution_days: '900',
    });
    expect(refused.status).toBe(422);
    for (const shown of ['value="New Shop"', '#set-mailbox', '#set-attribution_days'])
      expect(refused.text).toContain(shown);
    const set = await act(staff, [at, 'set'], typed);
    expect(set.text).toContain('The profile is saved.');
    const changed = await act(staff, [at, 'set'], { ...typed, name: 'Renamed' });
    for (const shown of ['Renamed', '45 days', '3 days']) expect(changed.text).toContain(shown);
    const owner = await signedInAs(app, await invite(app, ['owner'], { owners: ['newcomer'] }));
    const { attribution_days: _staff, ...own } = typed;
    expect((await owner.get('/o/newcomer/profile')).text).not.toContain('name="attribution_days"');
    const kept = await act(owner, ['/o/newcomer/profile', 'set'], own);
    expect(kept.text).toContain('45 days');
  });

  it('A promoter that does not exist is a sentence', async () => {
    for (const owner of ['nobody', 'A', 'desk', 'testacme'])
      expect((await staff.get(`/desk/owners/${owner}`)).status, owner).toBe(404);
  });
});

describe('The people', () => {
  it('An operator invites a person, and the link is shown once', async () => {
    const invited = await act(operator, ['/desk/people', 'invite'], {
      name: 'Nora Newcomer',
      mailbox: 'nora@mail.example',
      'role-staff': 'yes',
      'role-privacy': 'yes',
    });
    expect(invited.status).toBe(200);
    expect(invited.text).toMatch(/https:\/\/t\.example\/invited\//);
    const { text } = await operator.get('/desk/people');
    expect(text).toContain('Nora Newcomer');
    expect(text).toContain('staff, privacy');
  });

  it('A refused invitation keeps what was typed and names the field', async () => {
    const refused = await act(operator, ['/desk/people', 'invite'], {
      name: 'Otto Owner',
      mailbox: 'otto@mail.example',
      'role-owner': 'yes',
      'role-staff': 'yes',
      owners: 'acme',
    });
    expect(refused.status).toBe(422);
    for (const shown of [
      'value="Otto Owner"',
      'value="acme"',
      'href="#invite-roles"',
      'owner alone',
    ])
      expect(refused.text).toContain(shown);
    expect(refused.text).toMatch(/name="role-staff" value="yes" checked/);
    expect(refused.text).not.toMatch(/name="role-privacy" value="yes" checked/);
    const none = await act(operator, ['/desk/people', 'invite'], { name: '', mailbox: 'x' });
    expect(none.status).toBe(422);
    for (const field of ['name', 'mailbox', 'roles'])
      expect(none.text, field).toContain(`href="#invite-${field}"`);
  });

  it('An operator changes roles, invites again and ends a person', async () => {
    const guest: Invited = await invite(app, ['staff']);
    await settled(app);
    const at = `/desk/people/${guest.id}`;
    expect((await operator.get(at)).text).toContain(guest.mailbox);
    expect((await act(operator, [at, 'again'])).text).toContain('/invited/');
    const changed = await act(operator, [at, 'roles'], {
      'role-auditor': 'yes',
      reason: 'Moved',
    });
    expect(changed.text).toContain('The roles are changed.');
    expect(changed.text).toMatch(/name="role-auditor" value="yes" checked/);
    const ended = await act(operator, [at, 'end'], { reason: 'Left' });
    expect(ended.text).toContain('The access has ended.');
    expect(ended.text).not.toContain(`action="${at}/end"`);
  });

  it('Staff and auditors read who signs in, without addresses and without acts', async () => {
    const { text } = await staff.get('/desk/people');
    expect(text).toContain('Nora Newcomer');
    expect(text).not.toContain('action="/desk/people/invite"');
    expect(text).not.toContain('nora@mail.example');
    expect((await staff.get(`/desk/people/${(await invite(app, ['staff'])).id}`)).status).toBe(403);
  });

  it('The people of a promoter and those of a name are found however many others are newer', async () => {
    const owner = await invite(app, ['owner'], { owners: ['acme'], name: 'Ève Early' });
    const other = await invite(app, ['staff'], { name: 'Many Others' });
    await settled(app);
    await appendCopies(app, { stream: `desk-person_${other.id.slice(4)}`, count: 150 });
    for (const [page, sees] of [
      ['/desk/people', false],
      ['/desk/people?owner=acme', true],
      ['/desk/people?name=EVE', true],
      ['/desk/people?name=ear+%C3%A8v', true],
      ['/desk/people?owner=rival&name=eve', false],
      ['/desk/owners/acme', true],
      ['/o/acme/profile', true],
    ] as const)
      expect((await staff.get(page)).text.includes(owner.name), page).toBe(sees);
    const { text } = await staff.get('/desk/people?name=many');
    const [next = ''] = /\/desk\/people\?name=many&amp;before=\d+/.exec(text) ?? [];
    expect((await staff.get(next.replace('&amp;', '&'))).text).toContain(other.name);
    const own = await signedInAs(app, await invite(app, ['owner'], { owners: ['acme'] }));
    const seen = (await own.get('/desk/people')).text;
    expect(seen).toContain(owner.name);
    expect(seen).not.toContain(other.name);
    expect((await own.get('/desk/people?owner=rival')).status).toBe(404);
  });
});

describe('The tokens', () => {
  it('An operator sees tokens with their last use, and revokes one', async () => {
    const issued = await app.desk('POST', '/desk-tokens', { name: 'Nightly', roles: ['staff'] });
    const { id, token } = issued.body as { id: string; token: string };
    const at = `/desk/tokens/${id}`;
    await settled(app);
    expect((await operator.get(at)).text).toMatch(/Last recorded use<\/dt>\s*<dd>never/);
    await app.send({
      method: 'POST',
      url: '/api/desk/v1/products/withdraw',
      key: token,
      payload: { sku: 'NONE', reason: 'Gone' },
      headers: { 'idempotency-key': 'nightly-1' },
    });
    await app.service.deps.audit.flush();
    await settled(app);
    const { text } = await operator.get(at);
    expect(text).toMatch(/Last recorded use<\/dt>\s*<dd><time/);
    expect(text).not.toContain(token);
    expect((await act(operator, [at, 'revoke'], { reason: '' })).status).toBe(422);
    const revoked = await act(operator, [at, 'revoke'], { reason: 'Leaked' });
    expect(revoked.text).toContain('The token is revoked.');
    expect(revoked.text).not.toContain(`${at}/revoke`);
    expect((await operator.get('/desk/tokens/none00000000')).status).toBe(404);
  });

  it('An operator issues a token that is shown once, and a refused form keeps what was typed', async () => {
    const typed = { name: 'Nightly Import', 'role-staff': 'yes', expires_in_days: '30' };
    const refused = await act(operator, ['/desk/tokens', 'issue'], { ...typed, owner_id: 'acme' });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('href="#issue-roles"');
    expect(refused.text).toMatch(/name="role-staff" value="yes" checked/);
    for (const value of ['Nightly Import', 'acme', '30'])
      expect(refused.text).toContain(`value="${value}"`);
    const none = await act(operator, ['/desk/tokens', 'issue'], { name: '', expires_in_days: 'x' });
    for (const field of ['name', 'roles', 'expires_in_days'])
      expect(none.text, field).toContain(`href="#issue-${field}"`);
    const issued = await act(operator, ['/desk/tokens', 'issue'], typed);
    expect(issued.status).toBe(200);
    const [token = ''] = /trbd_\w+/.exec(issued.text) ?? [];
    const who = await app.send({ url: '/api/desk/v1/me', key: token });
    expect(who.body).toMatchObject({ name: 'Nightly Import', roles: ['staff'] });
    const { text } = await operator.get('/desk/tokens');
    expect(text).toContain('Nightly Import');
    expect(text).not.toContain(token);
  });

  it('A token without a use among the newest 2,000 events has none since the oldest of them, and a newer one never', async () => {
    const issue = async (name: string): Promise<string> => {
      const { body } = await app.desk('POST', '/desk-tokens', { name, roles: ['staff'] });
      return (body as { id: string }).id;
    };
    const old = await issue('Forgotten');
    app.clock.advance(3_600_000);
    const since = momentText(new Date(app.clock.now()).toISOString());
    const other = await invite(app, ['staff'], { name: 'Copied Since' });
    await appendCopies(app, { stream: `desk-person_${other.id.slice(4)}`, count: 2_100 });
    app.clock.advance(3_600_000);
    const young = await issue('Unused');
    await settled(app);
    const used = async (id: string): Promise<string> =>
      (await operator.get(`/desk/tokens/${id}`)).text;
    expect(await used(old)).toMatch(new RegExp(`<dd>none since <time[^>]*>${since}</time>`));
    expect(await used(young)).toMatch(/Last recorded use<\/dt>\s*<dd>never/);
  });

  it('An auditor sees the tokens and revokes none', async () => {
    const auditor = await signedInAs(app, await invite(app, ['auditor']));
    const { text } = await auditor.get('/desk/tokens');
    const [, path = ''] = /href="(\/desk\/tokens\/[^"]+)"/.exec(text) ?? [];
    expect((await auditor.get(path)).text).not.toContain('/revoke');
    const csrf = /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? '';
    const sent = await auditor.post(`${path}/revoke`, { csrf, key: 'k'.repeat(16), reason: 'x' });
    expect(sent.status).toBe(403);
  });
});
