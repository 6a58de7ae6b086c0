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
  'links@1': '7d2bc378c015b808',
  'handoffs@4': '57b72ef6aaa58913',
  'handoff-leads@2': '0b33e7a502c9b233',
  'leads@6': '2ea235e1db086006',
  'outbound@2': '1923012e25a5aa61',
  'open-outbound@2': '809e9946becb4f7c',
  'open-mail@1': '091f7133cff70cef',
  'open-leads@3': '4106084ba1bd0b67',
  'lead-hints@1': 'cd50832537759f81',
  'rfqs@3': '14a1db28e8d9f493',
  'tasks@1': '85d267a5db439e19',
  'push-configs@1': '17b03109c691e7fa',
  'codes@1': '8b0d69709ce7777c',
  'review-tokens@3': '670be4a64b6d05bd',
  'credentials@6': '4b511cc0d2fdaaba',
  'access@6': '157b3380a8a6a276',
  'access-requests@1': '1a9b17414d4142b7',
  'owners@1': '04b186c80d04fd6f',
  'erasures@2': 'c2f4188bb400a935',
  'mailboxes@1': '556eb54360c35dc1',
  'unindexed-contacts@1': 'c431b9e09356efb3',
  'performance@5': 'bd6539dd9a66f505',
  'history@7': 'ff901cf35e21a44d',
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
