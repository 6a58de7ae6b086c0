/** Settings: accepted values, and refusals that name the accepted values. */
import { describe, expect, it } from 'vitest';
import { readConfig } from '#src/config.ts';

describe('The setting TRUST_PROXY', () => {
  it.each([
    ['true', true],
    ['false', false],
    ['', false],
    ['loopback', 'loopback'],
    ['10.0.0.0/8, ::1', '10.0.0.0/8,::1'],
    ['2001:db8::/32,192.0.2.7,uniquelocal', '2001:db8::/32,192.0.2.7,uniquelocal'],
  ])('TRUST_PROXY accepts %j', (TRUST_PROXY, trustProxy) => {
    expect(readConfig({ TRUST_PROXY })).toMatchObject({ trustProxy });
  });

  it.each([
    '1',
    'maybe',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/0',
    '10.0.0.1,',
    'true,::1',
    'fe80::1%a',
  ])('TRUST_PROXY refuses %j and names the accepted forms', (TRUST_PROXY) => {
    expect(() => readConfig({ TRUST_PROXY })).toThrow(
      /^TRUST_PROXY: must be true .*, false, or the addresses .* like 10\.0\.0\.0\/8,::1/,
    );
  });
});

describe('The URL of a store', () => {
  it.each(['EVENT_LOG_URL', 'READ_MODEL_URL'])(
    "A store's URL in %s can be absent but not empty",
    (name) => {
      expect(readConfig({})).toMatchObject({ eventLogUrl: 'sqlite:log' });
      expect(() => readConfig({ [name]: '' })).toThrow(`${name}: is empty`);
    },
  );
});

describe('The setting PUBLIC_URL', () => {
  it.each([
    ['https://shop.example', 'https://shop.example'],
    ['https://shop.example/', 'https://shop.example'],
    ['HTTP://Shop.Example:8080', 'http://shop.example:8080'],
  ])('PUBLIC_URL accepts %s', (PUBLIC_URL, publicUrl) => {
    expect(readConfig({ PUBLIC_URL })).toMatchObject({ publicUrl });
  });

  it.each([
    'http://x/y?z',
    'https://a.example/sub/',
    'https://a.example/?',
    'https://a.example/#',
    'https://me:secret@a.example',
    'ftp://a.example',
    'shop.example',
  ])('PUBLIC_URL refuses %s', (PUBLIC_URL) => {
    expect(() => readConfig({ PUBLIC_URL })).toThrow(/^PUBLIC_URL: must be an origin like https:/);
  });
});

describe('A numeric setting', () => {
  it.each(['abc', '1e3', '65536', '-1', '0x10', '3000 '])(
    'A numeric setting refuses %j',
    (PORT) => {
      expect(() => readConfig({ PORT })).toThrow('PORT: must be a whole number from 0 to 65535');
    },
  );

  it('A numeric setting has a default and its own bounds', () => {
    expect(readConfig({}).port).toBe(3000);
    expect(readConfig({ PORT: '0', READS_PER_MINUTE: '7' })).toMatchObject({
      port: 0,
      readsPerMinute: 7,
    });
    expect(() => readConfig({ READS_PER_MINUTE: '0' })).toThrow(
      /READS_PER_MINUTE: must be a whole/,
    );
  });
});

describe('The setting HOLD_EVENT_TYPES', () => {
  it('HOLD_EVENT_TYPES lists event types that are not written, and is empty by default', () => {
    expect(readConfig({}).heldEventTypes).toEqual([]);
    const { heldEventTypes } = readConfig({ HOLD_EVENT_TYPES: 'CallsAudited, ' });
    expect(heldEventTypes).toEqual(['CallsAudited']);
  });

  it.each(['LeadSubmitted', 'callsaudited', 'CallsAudited;x'])(
    'HOLD_EVENT_TYPES refuses %s',
    (HOLD_EVENT_TYPES) => {
      expect(() => readConfig({ HOLD_EVENT_TYPES })).toThrow(
        /^HOLD_EVENT_TYPES\.0: must be event types that can be held, separated by commas: CallsAudited,VisitsSummed/,
      );
    },
  );
});

describe('The settings of mail', () => {
  const MAIL_FROM = 'no-reply@house.example';

  it.each([
    'smtps://anna:p%40ss@mail.example',
    'smtp://mail.example:587/',
    'smtp://[::1]:25?tlsCAFile=/ca',
  ])('The settings of mail accept %s with a sender', (MAIL_URL) => {
    expect(readConfig({ MAIL_URL, MAIL_FROM })).toMatchObject({ mailUrl: new URL(MAIL_URL) });
    expect(() => readConfig({ MAIL_URL })).toThrow(/^MAIL_FROM: is required with MAIL_URL/);
  });

  it.each([
    'https://anna:secret@mail.example',
    'smtp://',
    'smtp://anna:secret@mail.example/path',
    'smtps://anna:secret@mail.example?pool=false',
    'smtps://anna:secret@mail.example#x',
    'mail.example secret',
  ])('The settings of mail refuse %s without quoting it', (MAIL_URL) => {
    const read = () => readConfig({ MAIL_URL, MAIL_FROM });
    expect(read).toThrow(/^MAIL_URL: must be like smtps:/);
    expect(read).not.toThrow(/secret/);
  });

  it('The settings of mail accept mailboxes beyond ASCII, and one mailbox each', () => {
    const staffMail = 'verkäufe@bücher.example';
    expect(readConfig({ STAFF_MAIL: staffMail })).toMatchObject({ staffMail });
    for (const STAFF_MAIL of [
      'sales',
      'a@b.example,c@d.example',
      'Sales <a@b.example>',
      'a@b\n.example',
    ])
      expect(() => readConfig({ STAFF_MAIL })).toThrow(/^STAFF_MAIL: must be an e-mail address/);
  });
});
