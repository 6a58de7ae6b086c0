/** Mutants that no test can detect, because the product behaves the same with them. */
export const EQUIVALENT_MUTANTS: readonly {
  file: string;
  /** A part of the line that is changed. */
  source: string;
  replacement: string;
  reason: string;
}[] = [];
