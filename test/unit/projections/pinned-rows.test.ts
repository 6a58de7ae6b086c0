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
import { PINNED_LOG } from '../../support/pinned/pinned-log.ts';

const PINNED: Readonly<Record<string, string>> = {
  'links@1': 'a68c80810c418cd3',
  'handoffs@4': 'c1887c8757fbbc37',
  'handoff-leads@2': '88ae2bcde942cea9',
  'leads@6': 'e87b73da0fb7d5f0',
  'outbound@2': 'ab3710d8d5967f8a',
  'open-outbound@2': '745212ddac9afec2',
  'open-mail@1': 'b8fc4aa46b196cee',
  'open-leads@3': '089065368219ce11',
  'lead-hints@1': '444c9d33cb67b890',
  'rfqs@3': '515d4b4989808fa0',
  'tasks@1': '81e8aa4e0a9da41f',
  'push-configs@1': '316b2b7557b1c503',
  'codes@2': 'cdb0312566b91c40',
  'review-tokens@3': '1d41ce892bd66b65',
  'credentials@6': '16f1f6faa3d66d1c',
  'access@6': '34b32b367a2f9a42',
  'access-requests@1': '47a9104332855b4a',
  'owners@1': 'fbe10d7a0bb178aa',
  'erasures@2': 'c95f57c8568733fe',
  'mailboxes@2': 'dc139f608595c017',
  'unindexed-contacts@2': 'a97a4dd1cb472c54',
  'performance@5': 'a422430753b0f138',
  'history@7': '2f7c3dd16185960c',
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
  'if test/support/pinned/pinned-log.ts itself was added to, pin the same version anew.';

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
