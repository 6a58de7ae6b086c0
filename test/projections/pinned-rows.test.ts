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
  'links@1': '6e0fdee6c6ae5b30',
  'handoffs@5': '3a27c67c59af6358',
  'handoff-leads@2': 'cc18b3eb44bc793d',
  'leads@8': '92c478b721324f46',
  'outbound@4': '77b2c0794d4b35f8',
  'open-outbound@4': 'd2891ccc69cdba30',
  'open-mail@1': 'fa91f5a251315116',
  'open-applications@1': '24cd581a9c2546c1',
  'open-leads@4': '10bad03e0fca0ed8',
  'lead-hints@2': '0cea9717a0a6f48c',
  'rfqs@4': '6b0263e58011e5cb',
  'tasks@1': '21c611cde45dd7ed',
  'push-configs@1': 'd8da758ae0db8293',
  'codes@2': 'bfc4eb50a0247315',
  'review-tokens@3': 'b31a7fc923315fa9',
  'credentials@7': '2d27644ed17799dd',
  'access@7': 'fd32eaf9fc38abc3',
  'access-requests@2': 'd421987ea7a2ff8e',
  'owners@1': '1b34b17f2b138c14',
  'erasures@2': '96788d7282e60d8e',
  'mailboxes@3': '641dfe45e973b886',
  'performance@6': 'b7408f78887e4afb',
  'history@10': '87d2c4f338fdbad1',
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
