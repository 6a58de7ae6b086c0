/** A browser without script, for the pages of people: it keeps cookies, and sends forms with the token of its last page. */
import { BROWSER } from './buyers.ts';
import type { Answer } from './exchange.ts';
import type { Recorder } from './recorder.ts';

/** As a proxy in front of the service says. */
const HOST = { 'x-forwarded-host': 't.example', 'x-forwarded-proto': 'https' };
const NETWORK = '198.51.100.7';

export class Browser {
  readonly #recorder: Recorder;
  readonly #cookies = new Map<string, string>();
  #csrf = '';

  constructor(recorder: Recorder) {
    this.#recorder = recorder;
  }

  get(path: string, from = NETWORK): Promise<Answer> {
    return this.#send({ method: 'GET', path }, from);
  }

  post(path: string, fields: Record<string, string> = {}): Promise<Answer> {
    const body = new URLSearchParams({ csrf: this.#csrf, ...fields }).toString();
    return this.#send({ method: 'POST', path, body }, NETWORK);
  }

  async #send(
    asked: { method: 'GET' | 'POST'; path: string; body?: string },
    from: string,
  ): Promise<Answer> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await this.#recorder.send({
      ...asked,
      headers: {
        ...HOST,
        'x-forwarded-for': from,
        'user-agent': BROWSER,
        ...(cookie !== '' && { cookie }),
        ...(asked.body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
    });
    // A browser shows a form that is refused again.
    if (answer.status >= 400 && answer.status !== 422)
      throw new Error(`${asked.method} ${asked.path}: ${answer.status} ${answer.body}`);
    this.#keep(answer);
    return answer;
  }

  #keep({ headers, body }: Answer): void {
    for (const line of (headers['set-cookie'] ?? '').split('\n')) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    this.#csrf = fieldIn(body, 'csrf') || this.#csrf;
  }
}

/** The value of a hidden field of a page; empty without one. */
export const fieldIn = (html: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? '';
