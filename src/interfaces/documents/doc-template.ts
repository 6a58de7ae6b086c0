/**
 * HTML of the documentation pages, which `make publish` renders once for all services. What differs between services is a
 * placeholder in it.
 */
import type { PageRates } from '#src/interfaces/rest/docs.ts';

/** A reserved name, which no page contains otherwise. */
export const TEMPLATE_ORIGIN = 'https://origin.invalid';

/** Above every value that the settings allow. */
export const TEMPLATE_RATES: PageRates = {
  readsPerMinute: 999_999_001,
  writesPerMinute: 999_999_002,
};

export const fillTemplate = (html: string, origin: string, rates: PageRates): string =>
  html
    .replaceAll(TEMPLATE_ORIGIN, origin)
    .replaceAll(String(TEMPLATE_RATES.readsPerMinute), String(rates.readsPerMinute))
    .replaceAll(String(TEMPLATE_RATES.writesPerMinute), String(rates.writesPerMinute));
