/** Journals of clients: the writes that they sent, and the complete answers that they received. */
import { Agent, request } from 'node:http';

export type Sent = { path: string; body: string };
export type Answered = { status: number; text: string; replayed: boolean };
export type Journal = { sent: Map<string, Sent>; acknowledged: Map<string, Answered> };

export const newJournal = (): Journal => ({ sent: new Map(), acknowledged: new Map() });

export type Client = {
  /** Sends a write; resolves with a complete answer, or undefined without one. */
  post(url: string, key: string, sent: Sent, idempotencyKey: string): Promise<Answered | undefined>;
  close(): void;
};

export const httpClient = (): Client => {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  return {
    post: (url, key, { path, body }, idempotencyKey) =>
      new Promise((resolve) => {
        const headers = {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(body)),
          'idempotency-key': idempotencyKey,
        };
        const sending = request(`${url}/api/affiliate/v1${path}`, {
          method: 'POST',
          agent,
          headers,
        });
        sending.on('error', () => resolve(undefined));
        sending.on('response', (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', () => resolve(undefined));
          response.on('close', () => {
            if (!response.complete) return resolve(undefined);
            const replayed = response.headers['idempotent-replayed'] === 'true';
            const text = Buffer.concat(chunks).toString('utf8');
            return resolve({ status: response.statusCode ?? 0, text, replayed });
          });
        });
        sending.end(body);
      }),
    close: () => agent.destroy(),
  };
};

/** The random generator of Park and Miller, which gives the same numbers on every platform. */
export const randomFrom = (seed: number): ((below: number) => number) => {
  let state = (seed % 2_147_483_646) + 1;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
};

const sku = (n: number) => `SKU-${n % 5}`;

/** Returns the nth write of a test: a link with or without a slug, a lead or a handoff. */
export const writeOf = (n: number): Sent => {
  switch (n % 4) {
    case 0:
      return {
        path: '/links',
        body: JSON.stringify({ target: { kind: 'product', ref: sku(n) }, campaign: `c${n}` }),
      };
    case 1:
      return {
        path: '/links',
        body: JSON.stringify({ target: { kind: 'search', ref: 'mugs' }, slug: `slug-${n}` }),
      };
    case 2: {
      const contact = { name: `Buyer ${n}`, email: `buyer${n}@shop.example` };
      const consent = { basis: 'consent', obtained_at: '2026-11-01T00:00:00Z' };
      const company = { name: `Shop ${n}`, country: 'GB' };
      return {
        path: '/leads',
        body: JSON.stringify({ external_id: `crm-${n}`, company, contact, consent }),
      };
    }
    default: {
      const line_items = [
        { sku: sku(n), quantity: 4 },
        { sku: sku(n + 1), quantity: 6 },
      ];
      return { path: '/handoffs', body: JSON.stringify({ title: `List ${n}`, line_items }) };
    }
  }
};
