/** Requests for a short link that no person made, beside the bots that the library isbot knows. */

/** What marks such a request, and the public page that reported it. */
type Mark = { name: string; reported: string };

/** Headers in which a browser or an app says that it fetches a page before a person asks for it. */
const HEADERS: readonly Mark[] = [
  { name: 'sec-purpose', reported: 'https://github.com/whatwg/html/pull/8111' },
  {
    name: 'purpose',
    reported: 'https://github.com/fnando/browser/issues/497',
  },
  // Safari, and the app of Facebook for each link that a person scrolls past.
  {
    name: 'x-purpose',
    reported: 'https://inchoo.net/dev-talk/mitigating-facebook-x-fb-http-engine-liger/',
  },
  { name: 'x-moz', reported: 'https://github.com/sergiodxa/remix-utils/pull/82' },
];

/** Parts of the user agents of programs that fetch a link to preview it, or before a browser opens it. */
const PROGRAMS: readonly Mark[] = [
  // Office requests a link before it passes it to the browser, and Outlook loads the pictures of a message.
  { name: 'ms-office', reported: 'https://github.com/matomo-org/device-detector/issues/7275' },
  { name: 'microsoft office', reported: 'https://github.com/browscap/browscap/issues/1634' },
  { name: 'facebookexternalhit', reported: 'https://github.com/donatj/PhpUserAgent/issues/71' },
  { name: 'whatsapp', reported: 'https://github.com/YOURLS/YOURLS/issues/3967' },
  {
    name: 'telegrambot',
    reported: 'https://github.com/prerender/prerender-cloudflare-worker/pull/3',
  },
  { name: 'slackbot', reported: 'https://github.com/onderonur/onurl/issues/9' },
  { name: 'discordbot', reported: 'https://github.com/KBVE/kbve/pull/11210' },
  { name: 'twitterbot', reported: 'https://github.com/dubinc/dub/issues/2309' },
  { name: 'linkedinbot', reported: 'https://github.com/tobie/ua-parser/pull/319' },
  { name: 'skypeuripreview', reported: 'https://github.com/ua-parser/uap-core/issues/295' },
  { name: 'preview', reported: 'https://github.com/KBVE/kbve/pull/11210' },
  { name: 'embedly', reported: 'https://github.com/KBVE/kbve/pull/11210' },
  { name: 'iframely', reported: 'https://github.com/KBVE/kbve/pull/11210' },
];

export const FALSE_CLICKS = {
  /** The day of the last change of the lists. */
  version: '2026-11-28',
  headers: HEADERS,
  /** What these headers say, in any case and with anything around it. */
  purposes: ['prefetch', 'prerender', 'preview'],
  programs: PROGRAMS,
} as const;
