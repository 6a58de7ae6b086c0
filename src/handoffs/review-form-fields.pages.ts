/** The fields of a review page's form, and the inputs of operations made from them. */
import type { Review } from './review.ts';
import { present } from '#src/shared/present.ts';
import { wordsIn } from '#src/links/product-routes.pages.ts';
import { pageWith, readTotals, type ReviewView } from './review-view.pages.ts';
import type { Faults } from '#src/web/layout.ts';

export type EnteredFields = ReadonlyMap<string, string>;

const BESIDE = 'name email company phone country message consent reason q found'.split(' ');
/** The fields of a contact that can be empty. */
const OPTIONAL = ['company', 'phone', 'country', 'message'];
/** The prefix of the fields of quantities; the id of the line follows. */
export const QUANTITY = 'quantity.';

/** Fields of a body by name; the first value of a repeated name. Browsers send a line break as CR LF. */
export const fieldsOf = (body: unknown): EnteredFields =>
  new Map(
    Object.entries((body ?? {}) as Record<string, unknown>).map(([name, value]) => [
      name,
      String(Array.isArray(value) ? value[0] : value).replaceAll('\r\n', '\n'),
    ]),
  );

const textOf = (fields: EnteredFields, name: string): string => fields.get(name)?.trim() ?? '';

export const quantitiesOf = (fields: EnteredFields): EnteredFields =>
  new Map(
    [...fields].flatMap(([name, value]) =>
      name.startsWith(QUANTITY) ? [[name.slice(QUANTITY.length), value] as const] : [],
    ),
  );

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

/** The words of the search whose results the form shows. */
export const wordsOf = (fields: EnteredFields): string => wordsIn(fields.get('found'));

/** Whether the form has words that were not searched for. */
export const isSearch = (fields: EnteredFields): boolean => wordsIn(fields.get('q')) !== '';

export const searchedFields = (fields: EnteredFields): EnteredFields =>
  new Map([...fields, ['found', fields.get('q') ?? ''], ['q', '']]);

/** The id of the line that a form has put on a list; undefined if it puts none there. */
export const addedLine = (fields: EnteredFields, { state }: Review): string | undefined =>
  state.lines.find(
    ({ line_id, product_id }) =>
      line_id === fields.get('restore') || product_id === fields.get('add'),
  )?.line_id;

/** The page of the first quantity that is refused; otherwise the page that the form was on. */
export const pageOfFault = (faults: Faults, { page, review }: ReviewView): number => {
  const name = [...faults.keys()].find((one) => one.startsWith(QUANTITY));
  return name === undefined ? page : pageWith(review.state.lines, name.slice(QUANTITY.length));
};

export const revisionInput = (fields: EnteredFields): Record<string, unknown> => ({
  ...quantitiesInput(fields),
  ...present({ restore: fields.get('restore'), add: fields.get('add') }),
});

const quantitiesInput = (fields: EnteredFields): Record<string, unknown> => ({
  list_revision: revisionOf(fields),
  quantities: quantitiesOf(fields),
});

export const declineInput = (fields: EnteredFields): Record<string, unknown> => ({
  reason: textOf(fields, 'reason').replaceAll(/\s+/g, ' '),
});

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
