/** Numbers as pictures, drawn by the server: tiles, a line by day and a funnel, each with a sentence and its table. */
import { html } from 'hono/html';
import { HOUSE_LOCALE, writerFor } from '#src/shared/money.ts';
import type { Html } from './layout.ts';

const { count } = writerFor(HOUSE_LOCALE);

/** A part of a whole as a percentage; undefined of nothing. */
export const rateText = (part: number, whole: number): string | undefined => {
  if (whole === 0) return undefined;
  const percent = (100 * part) / whole;
  return `${percent > 0 && percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
};

/** How a number differs from an earlier one, as a sign and a percentage. */
export const changeText = (now: number, before: number): string => {
  if (now === before) return 'unchanged';
  if (before === 0) return 'none before';
  const percent = Math.round((100 * Math.abs(now - before)) / before);
  return `${now > before ? '+' : '−'}${percent} %`;
};

type Tile = {
  label: string;
  value: string;
  /** How it compares, and with what. */
  change: string;
  /** Where what is behind the number is shown. */
  href: string;
};

/** The numbers of a page, each of which leads to what is behind it. */
export const tiles = (label: string, shown: readonly Tile[]): Html =>
  html`<ul class="tiles" aria-label="${label}">${shown.map(
    ({ label: name, value, change, href }) =>
      html`<li><a href="${href}"><span class="name">${name}</span> <strong>${value}</strong>
<span class="quiet">${change}</span></a></li>\n`,
  )}</ul>`;

type Point = {
  /** In words. */
  name: string;
  value: number;
  href: string;
};

type Chart = { title: string /** What the picture shows. */; sentence: string };

const WIDTH = 640;
const TOP = 2;
const BOTTOM = 140;
const LEFT = 4;

const STEPS = [1, 2, 3, 4, 5, 6, 8, 10];

/** The least round number that is not less. */
const roundUp = (value: number): number => {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return (STEPS.find((step) => step * power >= value) ?? 10) * power;
};

/** Keeps the markup short. */
const place = (at: number): string => at.toFixed(1);

/** The table behind a picture, which opens without script. */
const behind = (name: string, points: readonly Point[]): Html =>
  html`<details class="behind"><summary>As a table</summary><table><thead><tr><th scope="col">${name}</th>
<th scope="col" class="num">Number</th></tr></thead><tbody>${points.map(
    ({ name: of, value, href }) =>
      html`<tr><th scope="row">${of}</th><td class="num"><a href="${href}">${count(value)}</a></td></tr>\n`,
  )}</tbody></table></details>`;

const figure = ({ title, sentence }: Chart, picture: Html, table: Html): Html =>
  html`<figure class="chart"><figcaption><h2>${title}</h2><p>${sentence}</p></figcaption>
${picture}${table}</figure>`;

/** A line with a point for each day. Without any number it is its sentence alone. */
export const lineChart = (chart: Chart, points: readonly Point[]): Html => {
  const top = roundUp(Math.max(...points.map(({ value }) => value), 0));
  if (points.every(({ value }) => value === 0)) return figure(chart, html``, html``);
  const step = (WIDTH - 2 * LEFT) / Math.max(points.length - 1, 1);
  const x = (index: number): number => LEFT + index * step;
  const y = (value: number): number => BOTTOM - (value / top) * (BOTTOM - TOP);
  const line = points.map(({ value }, index) => `${place(x(index))},${place(y(value))}`).join(' ');
  const ends = `${place(x(points.length - 1))},${BOTTOM} ${LEFT},${BOTTOM}`;
  const picture = html`<p class="scale"><span>${count(top)}</span></p>
<svg class="line" viewBox="0 0 ${WIDTH} ${BOTTOM + 2}" role="img" aria-label="${chart.sentence}">
<path class="grid" d="M0 ${TOP}H${WIDTH}M0 ${(TOP + BOTTOM) / 2}H${WIDTH}M0 ${BOTTOM}H${WIDTH}"/>
<polygon class="area" points="${line} ${ends}"/><polyline points="${line}"/>
${points.map(
  ({ name, value }, index) =>
    html`<g><title>${name}: ${count(value)}</title><rect x="${place(x(index) - step / 2)}" y="0" width="${place(step)}" height="${BOTTOM}"/>
<circle cx="${place(x(index))}" cy="${place(y(value))}" r="4"/></g>\n`,
)}</svg><p class="scale"><span>${points[0]?.name}</span><span>${points.at(-1)?.name}</span></p>`;
  return figure(chart, picture, behind('Day', points));
};

/** `many`: its name inside a sentence. */
type Step = Point & { many: string };

const BAR_HEIGHT = 26;

/** Steps of which each is a part of the one before, with their rates. */
export const funnel = (chart: Chart, steps: readonly Step[]): Html => {
  const most = Math.max(...steps.map(({ value }) => value), 1);
  return figure(
    chart,
    html`<ol class="funnel">${steps.map(({ name, value, href }, index) => {
      const before = steps[index - 1];
      const rate = before && rateText(value, before.value);
      return html`<li><span class="name">${name}</span> <a href="${href}">${count(value)}</a>
<span class="quiet">${rate && before ? `${rate} of ${before.many}` : ''}</span>
<svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true" height="${BAR_HEIGHT}"><rect class="bar" width="${place((100 * value) / most)}" height="1"/></svg></li>\n`;
    })}</ol>`,
    html``,
  );
};
