/** An address of this machine by its name: browsers sign in with passkeys on `localhost` only. */
export const onLocalhost = (url: string): string =>
  url.replace(/^http:\/\/(?:127\.0\.0\.1|\[::1\])(?=[:/]|$)/, 'http://localhost');
