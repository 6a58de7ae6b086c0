import type { CodeRow } from '#src/ports/rows.ts';
import type { Deps } from '#src/calls/call.ts';

const CODE = /^[a-z0-9-]{3,64}$/;

/** Finds the link of a short code, in any case; resolves to undefined if there is none. */
export const findCode = async (
  { readModels }: Pick<Deps, 'readModels'>,
  entered: string,
): Promise<{ code: string; row: CodeRow } | undefined> => {
  const code = entered.toLowerCase();
  const row = CODE.test(code) ? await readModels.get<CodeRow>('codes', code, '') : undefined;
  return row && { code, row };
};
