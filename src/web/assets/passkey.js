// @ts-check
/*
 * Uses a passkey on the sign-in page, and adds one at /me. The form of a page that can do without is shown only here, where the
 * browser has passkeys. The bundle of @simplewebauthn/browser comes before this in the same file.
 */

/**
 * @typedef {{ optionsJSON: object }} Asked
 * @typedef {{
 *   browserSupportsWebAuthn(): boolean,
 *   startAuthentication(asked: Asked): Promise<object>,
 *   startRegistration(asked: Asked): Promise<object>,
 * }} Library
 */
const { browserSupportsWebAuthn, startAuthentication, startRegistration } =
  /** @type {{ SimpleWebAuthnBrowser: Library }} */ (/** @type {unknown} */ (globalThis))
    .SimpleWebAuthnBrowser;

const form = /** @type {HTMLFormElement | null} */ (document.querySelector('form[data-passkey]'));

/** @type {Readonly<Record<string, string>>} */
const TEXTS = {
  NotAllowedError:
    'No passkey was used: it was cancelled, it took too long, or this device has none for this site.',
  InvalidStateError: 'This device has a passkey of yours already.',
  SecurityError: 'The browser allows no passkey at this address.',
  Busy: 'The service did not answer. Please try again.',
};

/** Asks the service what the browser needs, unless the page has it. */
const optionsOf = async (/** @type {DOMStringMap} */ { options, ask = '' }) => {
  if (options !== undefined) return JSON.parse(options);
  const answer = await fetch(ask, { method: 'POST' });
  if (!answer.ok) throw Object.assign(new Error(), { name: 'Busy' });
  return answer.json();
};

const show = (/** @type {HTMLFormElement} */ { dataset }, /** @type {string} */ name) => {
  const fault = document.querySelector(`#${dataset['fault']}`);
  if (fault instanceof HTMLElement) {
    fault.hidden = name === '';
    fault.textContent = name === '' ? '' : (TEXTS[name] ?? TEXTS['NotAllowedError'] ?? '');
  }
};

const send = async (/** @type {HTMLFormElement} */ sent) => {
  const button = sent.querySelector('button');
  const answer = sent.querySelector('input[name=answer]');
  if (!button || !(answer instanceof HTMLInputElement)) return;
  button.disabled = true;
  show(sent, '');
  try {
    const start = sent.dataset['passkey'] === 'add' ? startRegistration : startAuthentication;
    answer.value = JSON.stringify(await start({ optionsJSON: await optionsOf(sent.dataset) }));
    // Without the event, which would begin here again.
    HTMLFormElement.prototype.submit.call(sent);
  } catch (error) {
    show(sent, error instanceof TypeError ? 'Busy' : error instanceof Error ? error.name : '');
    button.disabled = false;
    button.focus();
  }
};

if (form && browserSupportsWebAuthn()) {
  form.hidden = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(form);
  });
}
