/**
 * Names the statements of the specification that a test verifies. requirements.test.ts reads the calls
 * from the source of the tests (cited.ts) and compares them with the list; at run time they do nothing.
 */
export const verifies = (..._statements: string[]): void => undefined;
