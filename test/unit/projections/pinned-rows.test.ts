/**
 * The rows that each version of a read model makes of one fixed log. An upgrade replaces rows of an older
 * fold only if the version differs: otherwise it would keep them, and the operator's "projections verify"
 * would fail.
 */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { PROJECTIONS } from '#projections/index.ts';
import type { Projection } from '#projections/projection.ts';
import { rowsAfter } from '../../support/world/fold.ts';
import { PINNED_LOG } from '../../support/world/pinned-log.ts';

const PINNED: Readonly<Record<string, string>> = {
  'links@1': '52d3201145720d77',
  'handoffs@2': 'e92fa5ffbdf66db5',
  'handoff-leads@2': '1c4e053d15d80d17',
  'leads@4': '7c6ab3d35d4a0080',
  'outbound@2': 'e4d15dd734cbba28',
  'open-outbound@2': '851b05c6002cf09c',
  'open-leads@1': '62ffa7f7eb77524f',
  'rfqs@1': '0337e2dd6ab7689d',
  'tasks@1': '0f95d6e1f1f44d3e',
  'push-configs@1': 'fa18978ba7c6b077',
  'codes@1': '42a724ad7bd8bdad',
  'review-tokens@1': 'fb0ab2a89295a555',
  'credentials@6': '4585b57c73db790c',
  'access@6': 'fd238e699a0bc8c8',
  'owners@1': 'b8208608e708ec6e',
  'erasures@1': 'a7948f3f7af8bc34',
  'performance@3': 'e44d595b337579b7',
  'history@5': '1b65ed65fd70aa46',
};

const nameOf = ({ name, version }: Projection): string => `${name}@${version}`;

/** Hashes the rows after each event, because a later event can replace the rows of an earlier one. */
const digestOf = (projection: Projection): string => {
  const hash = createHash('sha256');
  for (let upTo = 1; upTo <= PINNED_LOG.length; upTo += 1)
    hash.update(JSON.stringify(rowsAfter(projection, PINNED_LOG.slice(0, upTo))));
  return hash.digest('hex').slice(0, 16);
};

const whatToDo = ({ name, version }: Projection): string =>
  `${name}@${version} made other rows of this log, or none were pinned. Was its fold to change? Then ` +
  `raise \`version\` of ${name} in projections/, unless it was raised since the last release, and put ` +
  'the new name and digest in place of the old line. If it was not to change, mend the fold. Only ' +
  'if test/support/world/pinned-log.ts itself was added to, pin the same version anew.';

describe('The pinned rows of a fixed log', () => {
  test.each(PROJECTIONS.map((each) => [nameOf(each), each] as const))(
    'equal the rows of %s',
    (name, each) => {
      expect(digestOf(each), whatToDo(each)).toBe(PINNED[name]);
    },
  );

  test('exist for each read model, and the log has each event type that is folded', () => {
    expect(Object.keys(PINNED)).toEqual(PROJECTIONS.map(nameOf));
    const types = new Set(PINNED_LOG.map(({ type }) => type));
    const folded = new Set(PROJECTIONS.flatMap(({ handles }) => handles));
    expect([...folded.difference(types)]).toEqual([]);
  });
});
