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
  'links@1': 'b75127f592c2921e',
  'handoffs@6': '57482cc499da4e99',
  'handoff-leads@2': '3787066501535eb3',
  'leads@8': 'ef805a3e77890ecd',
  'outbound@4': '854c948a92008800',
  'open-outbound@4': 'd40555901731fe92',
  'open-mail@1': '403be9e94c274a83',
  'open-applications@1': 'a1e2ec35046adfc1',
  'open-leads@4': '2f284abac07cebb3',
  'lead-hints@2': '36e40acb84a0d673',
  'rfqs@5': '59f8e4a922a06833',
  'tasks@1': '46abf0317a1b311f',
  'push-configs@1': '73d242dd4b1eb471',
  'codes@2': '77a376f156ed923f',
  'review-tokens@4': '2fc3da6f51bb7ff9',
  'credentials@8': '6b1395026565629f',
  'access@8': '545ea594a30aa3ce',
  'access-requests@2': 'a06abfaf64855abf',
  'owners@1': '45ab894456e8a064',
  'erasures@2': '70700a532fc5fe17',
  'mailboxes@4': '13f6f26ce39efd11',
  'performance@6': '8b5476264daea093',
  'history@12': '860ac27fc034d3cd',
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
