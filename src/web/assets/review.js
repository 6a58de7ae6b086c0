// @ts-check
/*
 * Comfort only: everything on the page works without it. It shows what a changed quantity would
 * cost, tells of quantities that are not saved, and says that a person has the list open.
 */

/** Scanners and previews that run scripts are gone before this. */
const LOOKED_AT_MS = 1_000;

const article = /** @type {HTMLElement | null} */ (document.querySelector('article[data-open]'));
const form = /** @type {HTMLFormElement | null} */ (document.querySelector('#review'));
const lineCount = document.querySelector('#line-count');
const unsaved = document.querySelector('#unsaved');

let isTold = false;

const tell = () => {
  const address = article?.dataset['open'];
  if (isTold || !address || document.visibilityState !== 'visible') return;
  isTold = true;
  // Nothing depends on the answer: the first form that is sent says the same.
  fetch(address, { method: 'POST', keepalive: true }).catch(() => undefined);
};

if (article) {
  setTimeout(tell, LOOKED_AT_MS);
  document.addEventListener('visibilitychange', () => setTimeout(tell, LOOKED_AT_MS));
  document.addEventListener('pointerdown', tell, { once: true });
}

/** The decimals of each currency, which the data of a browser does not always have right: `GBP:2 HUF:2`. */
const decimals = new Map(
  (form?.dataset['decimals'] ?? '').split(' ').map((one) => {
    const [currency = '', digits] = one.split(':');
    return [currency, Number(digits)];
  }),
);

/** @type {Map<string, Intl.NumberFormat>} */
const formats = new Map();

/** @param {number} amount @param {string} currency */
const money = (amount, currency) => {
  const digits = decimals.get(currency) ?? 2;
  let format = formats.get(currency);
  if (!format) {
    format = new Intl.NumberFormat(document.documentElement.lang, {
      style: 'currency',
      currency,
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    });
    formats.set(currency, format);
  }
  return format.format(amount / 10 ** digits);
};

/** A text of the form, in the plural of a number. @param {'lines' | 'unsaved'} name @param {number} count */
const counted = (name, count) => {
  const { lang } = document.documentElement;
  const forms = JSON.parse(form?.dataset[name] ?? '{}');
  const text = forms[new Intl.PluralRules(lang).select(count)] ?? forms.other ?? '';
  return text.replace('{count}', new Intl.NumberFormat(lang).format(count));
};

/**
 * What a unit costs from which quantity on.
 * @typedef {{ currency: string, tiers: number[][] }} Price
 * @param {string | undefined} text As `GBP 20:42 100:39`.
 * @returns {Price}
 */
const priceIn = (text = '') => {
  const [currency = '', ...tiers] = text.split(' ');
  return { currency, tiers: tiers.map((tier) => tier.split(':').map(Number)) };
};

/** @param {Element} row */
const lineIn = (row) => {
  const { product = '', price, tiers } = /** @type {HTMLElement} */ (row).dataset;
  return {
    row,
    product,
    input: /** @type {HTMLInputElement} */ (row.querySelector('.quantity')),
    unit: /** @type {HTMLElement} */ (row.querySelector('.unit')),
    sum: /** @type {HTMLDataElement} */ (row.querySelector('.sum')),
    listed: priceIn(price),
    // A product that is no longer offered keeps the price it has on the list.
    now: priceIn(tiers || price),
  };
};

/** The lines on other pages of the list, and what they come to: `GBP:9552 EUR:500`. */
const otherLines = Number(form?.dataset['otherLines'] ?? 0);
const otherTotals = (form?.dataset['otherTotals'] ?? '')
  .split(' ')
  .filter(Boolean)
  .map((total) => total.split(':'));

/** @typedef {ReturnType<typeof lineIn>} Line */
const lines = [...(form?.querySelectorAll('tbody tr') ?? [])].map(lineIn);

/** What cannot be read counts as the quantity that is on the list. @param {Line} line */
const quantityIn = ({ input }) => {
  const typed = input.value.trim();
  return Number(/^\d{1,9}$/.test(typed) ? typed : input.dataset['was']);
};

/** Products of which a quantity is changed: all their lines are priced anew, as when they are sent. */
const touched = () =>
  new Set(
    lines
      .filter((line) => quantityIn(line) !== Number(line.input.dataset['was']))
      .map(({ product }) => product),
  );

/** @param {Line} line @param {Set<string>} products */
const priced = (line, products) => {
  const { currency, tiers } = products.has(line.product) ? line.now : line.listed;
  const quantity = quantityIn(line);
  const [, price = 0] = tiers.findLast(([from = 0]) => from <= quantity) ?? tiers[0] ?? [];
  return { currency, price, quantity, sum: price * quantity };
};

/** @param {string} product @param {Set<string>} products */
const showLines = (product, products) => {
  for (const line of lines) {
    if (line.product !== product) continue;
    const { currency, price, sum } = priced(line, products);
    line.row.classList.toggle('changed', line.input.value.trim() !== line.input.dataset['was']);
    line.unit.textContent = money(price, currency);
    line.sum.textContent = money(sum, currency);
    line.sum.value = String(sum);
  }
};

/** @param {string} currency @param {number} amount */
const totalElement = (currency, amount) => {
  const total = document.createElement('data');
  total.className = 'total';
  total.value = String(amount);
  total.textContent = money(amount, currency);
  return total;
};

/**
 * Sums as they would be sent: below the list, beside the button, and for the server, which sends no
 * other.
 * @param {Set<string>} products
 */
const showTotals = (products) => {
  const totals = new Map(otherTotals.map(([currency, sum]) => [currency, Number(sum)]));
  let count = otherLines;
  for (const line of lines) {
    const { currency, quantity, sum } = priced(line, products);
    if (quantity === 0) continue;
    count += 1;
    totals.set(currency, (totals.get(currency) ?? 0) + sum);
  }
  if (count === 0) totals.set(lines[0]?.listed.currency ?? '', 0);
  const entries = [...totals];
  for (const place of form?.querySelectorAll('.totals') ?? [])
    place.replaceChildren(
      ...entries.flatMap(([currency, amount], index) => [
        index > 0 ? ' + ' : '',
        totalElement(currency, amount),
      ]),
    );
  const field = /** @type {HTMLInputElement | null} */ (form?.querySelector('[name="totals"]'));
  if (field) field.value = entries.map(([currency, sum]) => `${currency}:${sum}`).join(' ');
  // The total at today's prices is that of the saved quantities.
  document.querySelector('#total-now')?.remove();
  if (lineCount) lineCount.textContent = counted('lines', count);
};

const changed = () => form?.querySelectorAll('tr.changed').length ?? 0;

const say = () => {
  const count = changed();
  if (!unsaved) return;
  unsaved.textContent = count === 0 ? '' : counted('unsaved', count);
};

form?.addEventListener('input', ({ target }) => {
  const line = lines.find(({ input }) => input === target);
  if (!line) return;
  const products = touched();
  showLines(line.product, products);
  showTotals(products);
  say();
});

// A page that the browser kept shows what was typed, so the sums must follow it.
const kept = new Set(
  lines.filter(({ input }) => input.value !== input.dataset['was']).map(({ product }) => product),
);
if (kept.size > 0) {
  const products = touched();
  for (const product of kept) showLines(product, products);
  showTotals(products);
  say();
}
