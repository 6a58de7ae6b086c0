import { describe, expect, it } from 'vitest';
import { mailboxOf } from '#src/shared/mailbox.ts';

describe('The mailbox of an address', () => {
  it.each([
    ['Ada.Byron+shop@Gmail.com', 'adabyron@gmail.com'],
    ['ada.byron@googlemail.com', 'adabyron@gmail.com'],
    ['ada.byron+a+b@outlook.com', 'ada.byron@outlook.com'],
    ['ada+shop@proton.me', 'ada@proton.me'],
    ['ada.byron@icloud.com', 'ada.byron@icloud.com'],
  ])('%s is %s, as its provider documents', (email, mailbox) => {
    expect(mailboxOf(email)).toBe(mailbox);
  });

  it.each([
    ['Ada.Byron+Shop@Buyer.example', 'ada.byron+shop@buyer.example'],
    ['ada+shop@mail.gmail.com', 'ada+shop@mail.gmail.com'],
    ['"a@b+c"@buyer.example', '"a@b+c"@buyer.example'],
    ['+shop@outlook.com', '+shop@outlook.com'],
  ])('%s is only compared without regard to case, as %s', (email, mailbox) => {
    expect(mailboxOf(email)).toBe(mailbox);
  });
});
