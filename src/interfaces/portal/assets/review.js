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

/** @type {Map<string, Intl.NumberFormat>} */
const formats = new Map();

/** @param {number} amount @param {string} currency */
const money = (amount, currency) => {
  let format = formats.get(currency);
  if (!format) {
    format = new Intl.NumberFormat(document.documentElement.lang, { style: 'currency', currency });
    formats.set(currency, format);
  }
  return format.format(amount / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2));
};

/** @param {HTMLElement} row @param {number} quantity */
const unitPrice = (row, quantity) => {
  const tiers = (row.dataset['tiers'] ?? '').split(' ').map((tier) => tier.split(':').map(Number));
  const [, price] = tiers.findLast(([from]) => (from ?? 0) <= quantity) ?? tiers[0] ?? [];
  return price ?? 0;
};

/**
 * What a row showed when it came from the server.
 * @type {WeakMap<Element, [string, string, string]>}
 */
const served = new WeakMap();

/** @param {HTMLInputElement} input */
const show = (input) => {
  const row = /** @type {HTMLElement | null} */ (input.closest('tr'));
  const unit = row?.querySelector('.unit');
  const sum = /** @type {HTMLDataElement | null | undefined} */ (row?.querySelector('.sum'));
  if (!row || !unit || !sum) return;
  const before = served.get(row) ?? [unit.textContent, sum.textContent, sum.value];
  served.set(row, before);
  const typed = input.value.trim();
  const isChanged = typed !== input.dataset['was'];
  row.classList.toggle('changed', isChanged);
  if (!isChanged || !/^\d{1,9}$/.test(typed)) {
    [unit.textContent, sum.textContent, sum.value] = before;
    return;
  }
  const currency = row.dataset['currency'] ?? '';
  const price = unitPrice(row, Number(typed));
  unit.textContent = money(price, currency);
  sum.value = String(price * Number(typed));
  sum.textContent = money(price * Number(typed), currency);
};

/** Sums as they would be sent: below the list, and beside the button. */
const showTotals = () => {
  const totals = new Map();
  let count = 0;
  for (const row of form?.querySelectorAll('tbody tr') ?? []) {
    const currency = /** @type {HTMLElement} */ (row).dataset['currency'];
    const sum = /** @type {HTMLDataElement | null} */ (row.querySelector('.sum'));
    totals.set(currency, (totals.get(currency) ?? 0) + Number(sum?.value));
    const input = /** @type {HTMLInputElement | null} */ (row.querySelector('.quantity'));
    if (!/^0+$/.test(input?.value.trim() ?? '')) count += 1;
  }
  for (const total of form?.querySelectorAll('.total') ?? []) {
    const currency = /** @type {HTMLElement} */ (total).dataset['currency'] ?? '';
    total.textContent = money(totals.get(currency) ?? 0, currency);
  }
  if (lineCount)
    lineCount.textContent = `${new Intl.NumberFormat(document.documentElement.lang).format(count)} ${
      count === 1 ? 'line' : 'lines'
    }`;
};

const changed = () => form?.querySelectorAll('tr.changed').length ?? 0;

const say = () => {
  const count = changed();
  if (!unsaved) return;
  unsaved.textContent =
    count === 0 ? '' : `${count} ${count === 1 ? 'quantity' : 'quantities'} not saved yet.`;
};

form?.addEventListener('input', (event) => {
  if (!(event.target instanceof HTMLInputElement)) return;
  show(event.target);
  showTotals();
  say();
});

// A page that the browser kept shows what was typed, so the sums must follow it.
for (const input of form?.querySelectorAll('input.quantity') ?? [])
  if (input instanceof HTMLInputElement && input.value !== input.dataset['was']) show(input);
if (changed() > 0) {
  showTotals();
  say();
}
