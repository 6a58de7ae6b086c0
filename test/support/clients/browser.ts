/** Headless Chromium as a buyer's browser, which records every error and warning. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type axe from 'axe-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { chromium } from 'playwright-core';
import { HANG_MS } from '../hang.ts';

const CANDIDATES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const CHROMIUM = CANDIDATES.find((path) => existsSync(path));

export const hasChromium = CHROMIUM !== undefined;

/** For the name of a suite, so that a skipped suite says why. */
export const IN_CHROMIUM = hasChromium
  ? 'in Chromium'
  : `in Chromium (skipped: not installed as ${CANDIDATES.join(' or ')})`;

/** The flags prevent background requests, and let root start the browser. */
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
  chromium.launch({
    executablePath: CHROMIUM ?? '',
    headless: true,
    args: FLAGS,
    timeout: HANG_MS,
  });

export const DESKTOP = { viewport: { width: 1100, height: 800 } } as const;
export const PHONE = {
  viewport: { width: 390, height: 844 },
  isMobile: true,
  hasTouch: true,
} as const;

/** The user agent of a normal Chromium, because the service counts the headless one as a bot. */
const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/156.0.0.0 Safari/537.36';

export type Visitor = { page: Page; context: BrowserContext; faults: string[] };

/** Opens a browser context without cookies. Requests to another origin than `origin` are faults. */
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
  context.setDefaultTimeout(HANG_MS);
  return { page: await context.newPage(), context, faults: watch(context, origin) };
};

/** Chromium's message for a form that is refused with a page of one of these statuses. */
const EXPECTED = /^Failed to load resource: the server responded with a status of (?:409|422)\b/;

const watch = (context: BrowserContext, origin: string): string[] => {
  const faults: string[] = [];
  context.on('console', (message) => {
    const isNoted = ['error', 'warning'].includes(message.type());
    if (isNoted && !EXPECTED.test(message.text())) faults.push(`console: ${message.text()}`);
  });
  context.on('weberror', (error) => faults.push(`script: ${error.error().message}`));
  context.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`))
      faults.push(`request to another origin: ${request.url()}`);
  });
  context.on('response', (response) => {
    const isForm = response.request().isNavigationRequest();
    const allowed = isForm ? [409, 422] : [];
    if (response.status() >= 400 && !allowed.includes(response.status()))
      faults.push(`${response.status()}: ${response.url()}`);
  });
  return faults;
};

/** Executes an action that opens another page, waits until it is loaded, and returns its status. */
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

/** Returns axe's violations, one per line: in light mode on a desktop, and in dark mode on a phone. */
export const violations = async (page: Page): Promise<string[]> => {
  const lines: string[] = [];
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
      for (const { html } of nodes) lines.push(`${colorScheme}: ${id}: ${html}`);
  }
  return lines;
};

/** Returns the decoded bytes of a page and of all its resources. */
export const weight = (page: Page): Promise<number> =>
  page.evaluate(() =>
    [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .map((entry) => (entry as PerformanceResourceTiming).decodedBodySize)
      .reduce((sum, bytes) => sum + bytes, 0),
  );

/** The narrowest width in WCAG (1.4.10), and that of a common phone. */
const WIDTHS = [320, 390];
/** A screen of 1280 by 800 pixels that is enlarged to 200 % (1.4.4). */
const ENLARGED = { width: 640, height: 400 };

/** Returns the controls that another element covers once they are scrolled to, as when they get the focus (2.4.11). */
const covered = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const { scrollX, scrollY } = globalThis;
    const controls = document.querySelectorAll('a[href], button, input, select, textarea, summary');
    const found = [...controls].filter((control) => {
      if (!control.checkVisibility()) return false;
      control.scrollIntoView({ block: 'nearest' });
      const box = control.getClientRects()[0];
      // What is only for screen readers, and what comes with the focus.
      if (!box || box.width < 2 || box.bottom <= 0) return false;
      const at = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
      return at === null || !(control.contains(at) || at.contains(control));
    });
    globalThis.scrollTo(scrollX, scrollY);
    return found.map(({ outerHTML }) => outerHTML);
  });

/**
 * Returns what does not fit the page: pixels of horizontal overflow on phones and on an enlarged screen, and controls that are
 * covered there. Does not use innerWidth, which grows with the overflow on a phone.
 */
export const misfits = async (page: Page): Promise<string[]> => {
  const before = page.viewportSize() ?? PHONE.viewport;
  const found: string[] = [];
  for (const size of [...WIDTHS.map((width) => ({ ...before, width })), ENLARGED, before]) {
    await page.setViewportSize(size);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > size.width) found.push(`${wide - size.width} pixels wider than ${size.width}`);
    if (size === ENLARGED) found.push(...(await covered(page)));
  }
  return found;
};

/** Returns the text that describes a field to a screen reader, with `no element ID` for a missing one. */
export const descriptionOf = (page: Page, id: string): Promise<string> =>
  page.evaluate((field) => {
    const ids = document.getElementById(field)?.getAttribute('aria-describedby') ?? '';
    return ids
      .split(' ')
      .map((one) => document.getElementById(one)?.textContent ?? `no element ${one}`)
      .join(' ');
  }, id);

export type Stop = { id: string; tag: string; text: string; isShown: boolean };

/** Presses Tab; returns the focused element, and whether it is visibly focused. */
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
