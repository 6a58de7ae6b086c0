/** Events of the passkeys of one person, for the tests of their decider. */

export const PERSON_ID = 'per_1';

export const passkey = (passkey_id: string, counter = 0) => ({
  passkey_id,
  public_key: 'key',
  counter,
  transports: ['usb'],
  sealed_name: 'sealed',
});

export const added = (id: string, counter = 0) => ({
  type: 'PasskeyAdded' as const,
  data: { person_id: PERSON_ID, ...passkey(id, counter) },
});

export const used = (passkey_id: string, counter: number) => ({
  type: 'PasskeyUsed' as const,
  data: { person_id: PERSON_ID, passkey_id, counter },
});
