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
  'links@2': 'dda4705e44adc132',
  'handoffs@6': '9cad7fe6564f7897',
  'handoff-leads@2': '36fa437901460a1d',
  'leads@9': '1ca4ad381f750fb7',
  'outbound@5': '62ca2e6353b641df',
  'open-outbound@4': '32029ff6bf84bd54',
  'open-mail@1': '6e0ec542ca64bf53',
  'open-applications@1': '13c782bce5f9a261',
  'open-leads@4': '47c70b4f4a6bc50d',
  'lead-hints@2': '982df713f4bf1ac5',
  'rfqs@5': 'a0d4158a0ceaba85',
  'confirmed-lists@1': '5565d9d5e9525ff8',
  'tasks@1': '0a94378de909b98a',
  'push-configs@1': 'f7ff66c580b9032b',
  'codes@3': '123b0102c3671c47',
  'review-tokens@4': '71b91dc4880e8ebf',
  'credentials@8': 'd4df56bae65573fd',
  'access@8': '6852a70c2cbeb379',
  'access-requests@2': '6935c28c9d3dd4d7',
  'owners@1': 'a33f6852b06a04f9',
  'erasures@2': '28aa19f69e01ea28',
  'mailboxes@4': '575d5c1a47cc1703',
  'performance@7': 'ba064598d0feb69f',
  'history@12': '207f9192d2acdaa8',
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
