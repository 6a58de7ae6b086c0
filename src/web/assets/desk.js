// Keys, and counts that are reloaded. Every page works without it.
(() => {
  'use strict';
  const COUNT_EVERY_MS = 15_000;
  const items = () => [...document.querySelectorAll('[data-item]')];
  const move = (step) => {
    const all = items();
    const at = all.indexOf(document.activeElement);
    const next = all[at === -1 ? 0 : at + step];
    if (next) next.focus();
  };
  const focus = (selector) => {
    const found = document.querySelector(selector);
    if (!found) return;
    if (found.tagName === 'DETAILS') found.open = true;
    (found.tagName === 'DETAILS' ? found.querySelector('summary') : found).focus();
  };
  const go = (selector) => document.querySelector(selector)?.click();
  const keys = {
    j: () => move(1),
    k: () => move(-1),
    r: () => location.reload(),
    a: () => focus('details.act'),
    n: () => go('[data-next]'),
    i: () => go('[data-inbox]'),
    '/': () => focus('#q'),
    '?': () => document.querySelector('.keys')?.scrollIntoView(),
  };
  document.addEventListener('keydown', (event) => {
    const { target } = event;
    const types = /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable;
    if (types || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  if (!document.querySelector('[data-count]')) return;
  const count = async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch('/desk/counts', { headers: { accept: 'application/json' } });
      if (!answer.ok || answer.redirected) return;
      const counts = await answer.json();
      for (const shown of document.querySelectorAll('[data-count]'))
        shown.textContent = counts[shown.dataset.count] ?? shown.textContent;
      document.title = document.title.replace(/^(\(.*?\) )?/, `(${counts.all}) `);
    } catch {
      // The next time may succeed.
    }
  };
  setInterval(count, COUNT_EVERY_MS);
})();
