import { expect, it } from 'vitest';
import {
  checkpointText,
  newSigningKey,
  NotAKey,
  openNote,
  openSigner,
  openVerifier,
  readCheckpoint,
  signNote,
} from '#src/proof/note.ts';

/** The example of `golang.org/x/mod/sumdb/note`. */
const GO = {
  key: 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
  signer: 'PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz',
  text: "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n",
  signature:
    '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n',
};

it('A note is signed and opened as by Go', () => {
  expect(signNote(GO.text, [openSigner(GO.signer)])).toBe(`${GO.text}\n${GO.signature}`);
  const opened = openNote(`${GO.text}\n${GO.signature}`, [openVerifier(GO.key)]);
  expect(opened).toMatchObject({ text: GO.text, signed: [{ by: { name: 'PeterNeumann' } }] });
});

it('A note with one other character, or with a signature of another text, is not opened', () => {
  const note = `${GO.text}\n${GO.signature}`;
  const keys = [openVerifier(GO.key)];
  expect(openNote(note.replace('answer', 'Answer'), keys)).toBeUndefined();
  expect(openNote(note.slice(0, -1), keys)).toBeUndefined();
  expect(openNote(GO.text, keys)).toBeUndefined();
});

it('Signatures of unknown keys are ignored, also of another key of the same name', () => {
  const other = openSigner(newSigningKey('PeterNeumann'));
  const note = signNote(GO.text, [other, openSigner(GO.signer)]);
  expect(openNote(note, [openVerifier(GO.key)])?.signed).toHaveLength(1);
  expect(openNote(signNote(GO.text, [other]), [openVerifier(GO.key)])?.signed).toEqual([]);
});

it('The text of a new key opens; a changed one does not', () => {
  const text = newSigningKey('shop.example/log');
  const signer = openSigner(text);
  expect(openVerifier(signer.text).text).toBe(signer.text);
  for (const wrong of [
    text.replace('PRIVATE', 'PUBLIC'),
    text.replace('shop', 'Shop'),
    `${text.slice(0, -3)}AAA`,
    'PRIVATE+KEY+',
    '',
  ])
    expect(() => openSigner(wrong)).toThrow(NotAKey);
  expect(() => openVerifier(signer.text.replace('shop', 'other'))).toThrow(NotAKey);
});

it('A checkpoint is read as it was written; other texts are none', () => {
  const checkpoint = { origin: 'shop.example/log', size: 12, root: Buffer.alloc(32, 7) };
  const text = checkpointText(checkpoint);
  expect(readCheckpoint(text)).toEqual(checkpoint);
  for (const wrong of [text.replace('12', '012'), text.replace('12', '-1'), text.slice(0, -1), ''])
    expect(readCheckpoint(wrong)).toBeUndefined();
});
