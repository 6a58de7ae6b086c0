/** People who are signed in, over the pages of one app, without a browser. */
import type { TestApp } from './app.ts';

export type Answered = { status: number; text: string; headers: Record<string, string> };

/** A browser without script: it keeps cookies, and sends forms with the hidden fields of the last page. */
export type Surfer = {
  personId: string;
  cookies: Map<string, string>;
  get(url: string): Promise<Answered>;
  /** Sends a form of a page: its hidden fields come from the last page that this browser loaded. */
  post(url: string, fields?: Record<string, string>): Promise<Answered>;
};

/** The value of a hidden field of a page. */
export const hiddenField = (html: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? '';

export const surfer = (app: TestApp, personId = ''): Surfer => {
  const cookies = new Map<string, string>();
  let csrf = '';
  const send = async (method: 'GET' | 'POST', url: string, payload?: string): Promise<Answered> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await app.service.server.inject({
      method,
      url,
      headers: {
        ...(cookie !== '' && { cookie }),
        ...(payload !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(payload !== undefined && { payload }),
    });
    for (const { name, value } of response.cookies)
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    csrf = hiddenField(response.body, 'csrf') || csrf;
    const { statusCode: status, body: text } = response;
    return { status, text, headers: response.headers as Record<string, string> };
  };
  return {
    personId,
    cookies,
    get: (url) => send('GET', url),
    post: (url, fields = {}) =>
      send('POST', url, new URLSearchParams({ csrf, ...fields }).toString()),
  };
};

/** Invites a person, who accepts and is signed in. */
export const signedInPerson = async (
  app: TestApp,
  { name, mailbox, roles = ['staff'] }: { name: string; mailbox: string; roles?: string[] },
): Promise<Surfer> => {
  const invited = await app.desk('POST', '/people', { name, mailbox, roles });
  if (invited.status !== 201) throw new Error(invited.text);
  const { id, invitation_url } = invited.body as { id: string; invitation_url: string };
  const browser = surfer(app, id);
  const accepted = await browser.post(new URL(invitation_url).pathname);
  if (accepted.status !== 303) throw new Error(`${accepted.status}: ${accepted.text}`);
  return browser;
};
