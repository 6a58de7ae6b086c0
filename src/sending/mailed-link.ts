/** The tokens of mailed links whose subject is in the token. No event has a token: only the service can make it. */
import type { Secrets } from '#src/ports/system.ts';
import { areEqual } from '#src/calls/authenticate.ts';

const SECRET_CHARS = 40;
const TOKEN = /^((?:[0-9a-f]{2}){1,40})\.[0-9a-f]{40}$/;

/** What a link is about: its token names `subject`, and another `version` voids it. */
type About = { subject: string; version?: string };

/** Derives the token of a link: its subject in hex, because a person can have chosen it, and a secret of 160 bits. */
export const linkToken = (
  secrets: Pick<Secrets, 'mac'>,
  { subject, version = '' }: About,
): string => {
  const secret = secrets.mac('mailed-link', `${subject}:${version}`).slice(0, SECRET_CHARS);
  return `${Buffer.from(subject).toString('hex')}.${secret}`;
};

/** Reads the subject of a token, which proves nothing yet; undefined if the token has another form. */
export const subjectOfLink = (token: string): string | undefined => {
  const subject = Buffer.from(TOKEN.exec(token)?.[1] ?? '', 'hex').toString();
  return /^[a-z0-9_]+$/.test(subject) ? subject : undefined;
};

export const isLinkAbout = (secrets: Pick<Secrets, 'mac'>, token: string, about: About): boolean =>
  areEqual(linkToken(secrets, about), token);
