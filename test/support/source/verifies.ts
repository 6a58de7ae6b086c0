/**
 * Says which statements of the specification a test shows. requirements.test.ts reads the calls from
 * the source of the tests (cited.ts) and holds them against the list; at run time they do nothing.
 */
export const verifies = (..._statements: string[]): void => undefined;
