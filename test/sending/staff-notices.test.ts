/** Notices to staff, from the RFQ to the mailbox, over the real parts. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { afterEach, describe, expect, it } from 'vitest';
import { invite, signedInAs } from '../support/world/browsing.ts';
import { referenceOf } from '#src/ports/reference.ts';
import { listStoredMail } from '#src/delivery/mail.ts';
import { HANG_MS } from '../support/hang.ts';
import type { TestApp } from '../support/world/app.ts';
import { json, run } from '../support/clients/cli.ts';
import { BUYER, rfqWorld, STAFF_MAIL } from '../support/dispatch/rfqs.ts';
import { endMailServers, mailServer } from '../support/dispatch/mail-server.ts';

const open: TestApp[] = [];
const world = async (env: Record<string, string> = {}) => {
  const one = await rfqWorld({ STAFF_MAIL, ...env });
  open.push(one.app);
  return {
    ...one,
    async send(space?: 'live' | 'test'): Promise<string> {
      const id = await one.requestRfq(space);
      const { dispatcher, deps } = one.app.service;
      dispatcher.start();
      await dispatcher.idle();
      await deps.following.passed((await deps.log.head()).position, HANG_MS);
      await dispatcher.idle();
      return id;
    },
    files: () => readdirSync(join(one.app.directory, 'mail')),
  };
};
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
  await endMailServers();
});

describe('A new RFQ', () => {
  it('A new RFQ is announced in the mail directory, which the command line shows', async () => {
    const { app, send } = await world();
    const id = await send();
    const of = ['--data', app.directory];
    const { data } = await json<{ data: { id: string; to: string }[] }>('mail', 'list', ...of);
    const notice = data.find(({ to }) => to === STAFF_MAIL);
    expect(notice).toMatchObject({ subject: `New RFQ ${referenceOf(id)}` });
    const { stdout } = await run('mail', 'show', notice?.id ?? '', ...of);
    expect(stdout).toMatch(new RegExp(`^From: .*\nTo: ${STAFF_MAIL}\n[^]*/desk/r/${id}\n`));
    expect(await run('mail', 'show', 'mal_none', ...of)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no message mal_none'),
    });
  });

  it('A new RFQ is announced by the SMTP server of MAIL_URL, without the contact of the buyer', async () => {
    const { url, received } = await mailServer();
    const { send } = await world({ MAIL_URL: url, MAIL_FROM: 'no-reply@house.example' });
    const id = await send();
    const [notice, ...others] = received.filter(({ to }) => to.includes(STAFF_MAIL));
    expect(notice).toMatchObject({ from: 'no-reply@house.example', to: [STAFF_MAIL] });
    expect(others).toEqual([]);
    const { html, text } = await PostalMime.parse(notice?.raw ?? '');
    for (const part of [text, html]) {
      expect(part).toContain(id);
      for (const not of [BUYER.name, BUYER.email, '<img', '<script'])
        expect(part).not.toContain(not);
    }
  });

  it('A new RFQ of a test space is announced only in the directory', async () => {
    const { url, received } = await mailServer();
    const { send, files } = await world({ MAIL_URL: url, MAIL_FROM: 'no-reply@house.example' });
    await send('test');
    expect(received).toEqual([]);
    expect(files()).toHaveLength(3);
  });

  it('A new RFQ is read by staff with what the notice says', async () => {
    const { app, send } = await world();
    await send();
    const stored = await listStoredMail(join(app.directory, 'mail'));
    const { text = '' } = stored.find(({ to }) => to === STAFF_MAIL) ?? {};
    const [, path = ''] = /https:\/\/t\.example(\/desk\/r\/\S+)/.exec(text) ?? [];
    const staff = await signedInAs(app, await invite(app, ['staff']));
    expect((await staff.get(path)).text).toContain(BUYER.email);
  });
});

describe('The state of a process', () => {
  it('The state of a process says that mail is not configured, if others can reach it and MAIL_URL is not set', async () => {
    const { app } = await world();
    const ready = await app.send({ method: 'GET', url: '/readyz' });
    expect(ready).toMatchObject({ status: 200, body: { mail: 'not_configured' } });
    const local = await world({ PUBLIC_URL: 'http://127.0.0.1:3000' });
    const answer = await local.app.send({ method: 'GET', url: '/readyz' });
    expect(answer.body).not.toHaveProperty('mail');
  });
});
