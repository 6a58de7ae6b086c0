/** An approval covers every member of the envelope, whose stored form must never change. */
import { describe, expect, it } from 'vitest';
import { envelopeHash, envelopeOf } from '#src/sending/envelope.ts';

const OWNER = 'acme';
const REQUEST = {
  outbound_id: 'out_1',
  agent_id: 'agt_1',
  revision: 2,
  kind: 'message' as const,
  target: { channel: 'email', recipient_ref: 'list:cafés' },
  content: { text: 'Mugs are back.', link_ids: ['lnk_1'] },
  schedule: {
    not_before: Date.parse('2026-11-20T10:00:00Z'),
    not_after: Date.parse('2026-11-21T10:00:00.5Z'),
  },
  via: { adapter: 'webhook' as const, url: 'https://hook.example/in' },
};
type Request = Parameters<typeof envelopeOf>[1];

const { target, content, schedule, via } = REQUEST;
const OTHERS: [string, Partial<Request>][] = [
  ['id', { outbound_id: 'out_2' }],
  ['agent', { agent_id: 'agt_2' }],
  ['revision', { revision: 3 }],
  ['kind', { kind: 'social_post' }],
  ['channel', { target: { ...target, channel: 'sms' } }],
  ['recipient', { target: { ...target, recipient_ref: 'list:cafes' } }],
  ['text', { content: { ...content, text: 'Mugs are back!' } }],
  ['links', { content: { ...content, link_ids: ['lnk_2'] } }],
  ['first time', { schedule: { ...schedule, not_before: schedule.not_before + 1 } }],
  ['no first time', { schedule: { not_after: schedule.not_after } }],
  ['last time', { schedule: { ...schedule, not_after: schedule.not_after + 1 } }],
  ['adapter', { via: { ...via, adapter: 'a2a' } }],
  ['destination', { via: { ...via, url: 'https://hook.example/in/' } }],
];

describe('The envelope of a request', () => {
  it("A request's envelope has the same bytes and hash as before an upgrade", () => {
    const envelope = envelopeOf(OWNER, REQUEST);
    expect(envelope).toBe(
      '{"agent_id":"agt_1","content":{"link_ids":["lnk_1"],"text":"Mugs are back."},"id":"out_1",' +
        '"kind":"message","owner_id":"acme","revision":2,' +
        '"schedule":{"not_after":"2026-11-21T10:00:00.500Z","not_before":"2026-11-20T10:00:00.000Z"},' +
        '"target":{"channel":"email","recipient_ref":"list:cafés"},"type":"tributary.outbound",' +
        '"version":1,"via":{"adapter":"webhook","url":"https://hook.example/in"}}',
    );
    expect(envelopeHash(envelope)).toBe(
      'c942037b9044c11b9cff2168a6fda6d70434adb995e2b312cf71832eac043e60',
    );
  });

  it.each(OTHERS)("A request's envelope has a different hash with another %s", (_what, other) => {
    const first = envelopeHash(envelopeOf(OWNER, REQUEST));
    expect(envelopeHash(envelopeOf(OWNER, { ...REQUEST, ...other }))).not.toBe(first);
  });

  it("A request's envelope has a different hash for another owner", () => {
    const first = envelopeHash(envelopeOf(OWNER, REQUEST));
    expect(envelopeHash(envelopeOf('testacme', REQUEST))).not.toBe(first);
  });
});
