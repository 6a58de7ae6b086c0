/** The fields of a review page's form, and the inputs of operations made from them. */
import type { Review } from '#src/app/handoffs/review.ts';
import { readTotals } from './review-view.ts';

export type EnteredFields = ReadonlyMap<string, string>;

const BESIDE = ['name', 'email', 'company', 'phone', 'country', 'message', 'consent', 'reason'];
/** The fields of a contact that can be empty. */
const OPTIONAL = ['company', 'phone', 'country', 'message'];
const QUANTITY = 'quantity.';

/** Fields of a body by name; the first value of a repeated name. */
export const fieldsOf = (body: unknown): EnteredFields =>
  new Map(
    Object.entries((body ?? {}) as Record<string, unknown>).map(([name, value]) => [
      name,
      String(Array.isArray(value) ? value[0] : value),
    ]),
  );

const textOf = (fields: EnteredFields, name: string): string => fields.get(name)?.trim() ?? '';

export const quantitiesOf = (fields: EnteredFields): EnteredFields =>
  new Map(
    [...fields].flatMap(([name, value]) =>
      name.startsWith(QUANTITY) ? [[name.slice(QUANTITY.length), value] as const] : [],
    ),
  );

/** The fields that are not quantities. */
export const besideQuantities = (fields: EnteredFields): EnteredFields =>
  new Map([...fields].filter(([name]) => !name.startsWith(QUANTITY)));

/** Whether the buyer entered values that the page would lose on a redirect. */
export const isWorthKeeping = (fields: EnteredFields, { state: { buyer } }: Review): boolean =>
  BESIDE.some((name) => textOf(fields, name) !== (isFilled(name) ? (buyer[name] ?? '') : ''));

/** Fields that the page fills from the list. */
const isFilled = (name: string): name is 'company' | 'country' =>
  name === 'company' || name === 'country';

/** The list revision of a form; 0, which no list has, when it is missing or malformed. */
export const revisionOf = (fields: EnteredFields): number => {
  const digits = fields.get('list_revision') ?? '';
  return /^\d{1,9}$/.test(digits) ? Number(digits) : 0;
};

const PAGE = /^[1-9]\d{0,3}$/;

/** Reads a page number; anything else is the first page. */
export const pageIn = (text: unknown): number =>
  typeof text === 'string' && PAGE.test(text) ? Number(text) : 1;

/** The page that a form asks for, or the one that it is on. */
export const pageAskedFor = (fields: EnteredFields): number =>
  pageIn(fields.get('go') ?? fields.get('page'));

/** Input of reviseList. */
export const quantitiesInput = (fields: EnteredFields): Record<string, unknown> => ({
  list_revision: revisionOf(fields),
  quantities: quantitiesOf(fields),
});

/** Input of declineHandoff. */
export const declineInput = (fields: EnteredFields): Record<string, unknown> => ({
  reason: textOf(fields, 'reason').replaceAll(/\s+/g, ' '),
});

/** Input of submitRfq. */
export const rfqInput = (fields: EnteredFields): Record<string, unknown> => {
  const totals = fields.get('totals');
  return {
    ...quantitiesInput(fields),
    ...(totals !== undefined && { shown: readTotals(totals) }),
    consent: fields.get('consent') === 'yes',
    contact: {
      name: textOf(fields, 'name'),
      email: textOf(fields, 'email'),
      ...Object.fromEntries(
        OPTIONAL.flatMap((name) => {
          const entered = textOf(fields, name);
          return entered === '' ? [] : [[name, entered]];
        }),
      ),
    },
  };
};
