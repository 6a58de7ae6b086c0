/** Headless Chromium as a buyer's browser, which notes all that it complains about. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type axe from 'axe-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { chromium } from 'playwright-core';

const CANDIDATES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const CHROMIUM = CANDIDATES.find((path) => existsSync(path));

export const hasChromium = CHROMIUM !== undefined;

/** How the name of a suite ends, with the reason where it cannot run. */
export const IN_CHROMIUM = hasChromium
  ? 'in Chromium'
  : `in Chromium (skipped: there is none in ${CANDIDATES.join(', ')})`;

/** The flags keep it off a network that is closed, and let root start it. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM ?? '', headless: true, args: FLAGS });

export const DESKTOP = { viewport: { width: 1100, height: 800 } } as const;
export const PHONE = {
  viewport: { width: 390, height: 844 },
  isMobile: true,
  hasTouch: true,
} as const;

/** What a person's Chromium calls itself: the headless one is taken for a bot, and rightly so. */
const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/156.0.0.0 Safari/537.36';
const WAIT_MS = 20_000;

export type Visitor = { page: Page; context: BrowserContext; faults: string[] };

/** A browser of its own: nobody's cookies, nothing kept. `origin` is all it should ask. */
export const visitor = async (
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = DESKTOP,
): Promise<Visitor> => {
  const context = await browser.newContext({
    baseURL: origin,
    userAgent: USER_AGENT,
    locale: 'en-GB',
    reducedMotion: 'reduce',
    ...options,
  });
  context.setDefaultTimeout(WAIT_MS);
  return { page: await context.newPage(), context, faults: watch(context, origin) };
};

/** A form that was not taken is answered by a page with one of these; Chromium grumbles. */
const EXPECTED = /^Failed to load resource: the server responded with a status of (?:409|422)\b/;

const watch = (context: BrowserContext, origin: string): string[] => {
  const faults: string[] = [];
  context.on('console', (message) => {
    const isNoted = ['error', 'warning'].includes(message.type());
    if (isNoted && !EXPECTED.test(message.text())) faults.push(`console: ${message.text()}`);
  });
  context.on('weberror', (error) => faults.push(`script: ${error.error().message}`));
  context.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`)) faults.push(`asked elsewhere: ${request.url()}`);
  });
  context.on('response', (response) => {
    const isForm = response.request().isNavigationRequest();
    const allowed = isForm ? [409, 422] : [];
    if (response.status() >= 400 && !allowed.includes(response.status()))
      faults.push(`${response.status()}: ${response.url()}`);
  });
  return faults;
};

/** Does what leads to another page, waits until that page is loaded, and answers its status. */
export const answered = async (page: Page, act: () => Promise<unknown>): Promise<number> => {
  const [response] = await Promise.all([
    page.waitForResponse((one) => one.request().isNavigationRequest() && one.status() !== 303),
    page.waitForEvent('load'),
    act(),
  ]);
  return response.status();
};

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const axeSource = hasChromium ? readFileSync(AXE, 'utf8') : '';

/** What axe finds wrong, one line each: by day on a desktop, and in the dark on a phone. */
export const violations = async (page: Page): Promise<string[]> => {
  const found: string[] = [];
  await page.evaluate(`${axeSource}; undefined`);
  for (const [colorScheme, { viewport }] of [
    ['dark', PHONE],
    ['light', DESKTOP],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    const results = await page.evaluate(() =>
      (globalThis as unknown as { axe: typeof axe }).axe.run({
        rules: { 'target-size': { enabled: true } },
        resultTypes: ['violations'],
      }),
    );
    for (const { id, nodes } of results.violations)
      for (const { html } of nodes) found.push(`${colorScheme}: ${id}: ${html}`);
  }
  return found;
};

/** Bytes of a page and of all that it loads, as they are once unpacked. */
export const weight = (page: Page): Promise<number> =>
  page.evaluate(() =>
    [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .map((entry) => (entry as PerformanceResourceTiming).decodedBodySize)
      .reduce((sum, bytes) => sum + bytes, 0),
  );

/** The narrowest screen that WCAG asks about (1.4.10), and a common phone. */
const WIDTHS = [320, 390];

/** Pixels that stick out sideways. Not of innerWidth: a phone's grows with what sticks out. */
export const overflow = async (page: Page): Promise<number> => {
  const before = page.viewportSize() ?? PHONE.viewport;
  let most = 0;
  for (const width of [...WIDTHS, before.width]) {
    await page.setViewportSize({ ...before, width });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    most = Math.max(most, wide - width);
  }
  return most;
};

/** The text that describes a field, as a screen reader would read it; fails on a dead reference. */
export const descriptionOf = (page: Page, id: string): Promise<string> =>
  page.evaluate((field) => {
    const ids = document.getElementById(field)?.getAttribute('aria-describedby') ?? '';
    return ids
      .split(' ')
      .map((one) => document.getElementById(one)?.textContent ?? `no element ${one}`)
      .join(' ');
  }, id);

export type Stop = { id: string; tag: string; text: string; isShown: boolean };

/** Presses Tab and says where the focus went, and whether a person can see it there. */
export const tab = async (page: Page): Promise<Stop> => {
  await page.keyboard.press('Tab');
  return page.evaluate(() => {
    const element = document.activeElement ?? document.body;
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    const isRinged = outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2;
    const box = element.getClientRects()[0] ?? element.getBoundingClientRect();
    const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return {
      id: element.id,
      tag: element.tagName.toLowerCase(),
      text: (element.textContent ?? '').trim(),
      isShown: isRinged && hit !== null && element.contains(hit),
    };
  });
};
