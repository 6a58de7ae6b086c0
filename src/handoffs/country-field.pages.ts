import { html } from 'hono/html';
import { COUNTRIES } from '#contracts/countries.ts';
import { describedBy, type Faults, type Html, invalid } from '#src/web/layout.ts';

// The texts of the pages are English, and so are the names of the countries.
const names = new Intl.DisplayNames('en-GB', { type: 'region' });

export const countryName = (code: string): string => names.of(code) ?? code;

const OPTIONS = [...COUNTRIES]
  .map((code) => [code, countryName(code)] as const)
  .sort(([, one], [, other]) => one.localeCompare(other, 'en-GB'));

/** A field with the countries by name; an empty choice is none. */
export const countryField = (value: string | undefined, faults: Faults): Html => {
  const fault = faults.get('country');
  return html`<div class="field${fault ? ' wrong' : ''}">
<label for="country">Delivery country <span class="quiet">(optional)</span></label>
${fault && html`<p class="fault" id="country-fault">${fault}</p>`}
<select id="country" name="country" autocomplete="country"${describedBy(fault ? 'country-fault' : '')}${invalid(fault)}>
<option value=""></option>
${OPTIONS.map(
  ([code, name]) =>
    html`<option value="${code}"${code === value ? html` selected` : ''}>${name}</option>\n`,
)}</select></div>`;
};
