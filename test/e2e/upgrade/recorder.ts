import type { Answer, Asked, Exchange, RecordedWrite, Recording, Send } from './exchange.ts';

export type Json = Record<string, unknown>;

/** The id of a record that an answer shows. */
export const idOf = (answer: Json): string => String(answer['id']);

/** Sends the requests of a story to one service, and records what it answers. */
export class Recorder {
  readonly credentials: Record<string, string> = {};
  readonly ids: Record<string, string> = {};
  readonly #writes: Exchange[] = [];
  readonly #reads: Exchange[] = [];
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /** Sends a request that is not part of the recording. */
  send(asked: Asked): Promise<Answer> {
    return this.#send(asked, this.credentials);
  }

  /** Records a write that is retried later. Throws unless it is answered with a 2xx. */
  async write(title: string, asked: Asked): Promise<Json> {
    const answer = await this.#expectOk(title, asked);
    this.#writes.push({ title, ...asked, answer });
    return JSON.parse(answer.body) as Json;
  }

  /** A write at the desk; its title is its idempotency key. */
  desk(title: string, path: string, body: object, as = 'staff'): Promise<Json> {
    return this.write(title, {
      method: 'POST',
      path: `/api/desk/v1${path}`,
      as,
      headers: { 'idempotency-key': title },
      body: JSON.stringify(body),
    });
  }

  /** A write of an agent over REST; its title is its idempotency key. */
  agent(title: string, path: string, body: object, as = 'acme'): Promise<Json> {
    return this.write(title, {
      method: 'POST',
      path: `/api/affiliate/v1${path}`,
      as,
      headers: { 'idempotency-key': title },
      body: JSON.stringify(body),
    });
  }

  /** Does something that has no idempotency key: a buyer's form, a visit. */
  async act(title: string, asked: Asked): Promise<Answer> {
    const answer = await this.send(asked);
    if (answer.status >= 400) throw new Error(`${title}: ${answer.status} ${answer.body}`);
    return answer;
  }

  /** Records the answer to a read, or to a request that must be refused in the same way. */
  async read(title: string, asked: Asked): Promise<void> {
    this.#reads.push({ title, ...asked, answer: await this.send(asked) });
  }

  /** Sends every write again and adds the answers. A credential is shown once: its retry is refused. */
  async retried(): Promise<RecordedWrite[]> {
    const writes: RecordedWrite[] = [];
    for (const { title, answer, ...asked } of this.#writes)
      writes.push({ title, ...asked, answer, retried: await this.send(asked) });
    return writes;
  }

  finish(about: Omit<Recording, 'credentials' | 'ids' | 'reads'>): Recording {
    const { credentials, ids } = this;
    return { ...about, credentials, ids, reads: this.#reads };
  }

  async #expectOk(title: string, asked: Asked): Promise<Answer> {
    const answer = await this.send(asked);
    const isOk = answer.status >= 200 && answer.status < 300;
    if (!isOk || /^\{"jsonrpc":"2.0","id":[^,]*,"error"/.test(answer.body))
      throw new Error(`${title}: ${answer.status} ${answer.body}`);
    return answer;
  }
}
