/**
 * The rows that each version of a read model makes of one fixed log. An upgrade replaces rows of an older
 * fold only if the version differs: otherwise it would keep them, and the operator's "projections verify"
 * would fail.
 */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { PROJECTIONS } from '#projections/index.ts';
import type { Projection } from '#projections/projection.ts';
import { rowsAfter } from '../support/world/fold.ts';
import { PINNED_LOG } from '../support/pinned/pinned-log.ts';

const PINNED: Readonly<Record<string, string>> = {
  'links@2': '29bb4f8e8304a32a',
  'handoffs@6': 'e2d01d63e0dd4261',
  'handoff-leads@2': '76b6bb1ce1f76fd3',
  'leads@9': 'bab29bc929055671',
  'outbound@5': '682cba70088300b7',
  'open-outbound@4': 'b59667e861c4afe8',
  'outreach-settings@1': '53702ad9686c09c2',
  'open-mail@1': 'd8f412647b5b6cd5',
  'open-applications@1': 'aeba2d1691ab9322',
  'open-leads@4': '9d9dac7d281cd389',
  'lead-hints@2': '34883348ae8c2886',
  'rfqs@5': 'fba6295f31bfcb30',
  'confirmed-lists@1': '1a2c0bf2037c27ca',
  'named-records@1': '5080980921883283',
  'tasks@1': '644288c6eb541cbe',
  'push-configs@1': '6ca262d79a3e6d18',
  'codes@4': '6ffb3f84787b5d6e',
  'review-tokens@4': '1997762d07a3b62b',
  'credentials@9': '25196fd5880e34fc',
  'access@9': 'd560eb566834b17c',
  'access-requests@3': 'c9d2e680b63116f2',
  'owners@1': 'ba1475a32b19a253',
  'erasures@2': 'a40667e849ded100',
  'mailboxes@4': 'fd585d74e0d1bd66',
  'performance@8': '55251733b3d6ff53',
  'history@12': '597da526f34d9310',
  'changes@1': '0761a9669f57ef4f',
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
    'The pinned rows of a fixed log equal the rows of %s',
    (name, each) => {
      expect(digestOf(each), whatToDo(each)).toBe(PINNED[name]);
    },
  );

  test('The pinned rows of a fixed log exist for each read model, and the log contains each folded event type', () => {
    expect(Object.keys(PINNED)).toEqual(PROJECTIONS.map(nameOf));
    const types = new Set(PINNED_LOG.map(({ type }) => type));
    const folded = new Set(PROJECTIONS.flatMap(({ handles }) => handles));
    expect([...folded.difference(types)]).toEqual([]);
  });
});
