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
  'links@2': 'da8379ab6e6886cc',
  'handoffs@6': '5d14835e6213a022',
  'handoff-leads@2': 'd8e3f74efe90e016',
  'leads@9': '35bb5547e533f47d',
  'outbound@5': '52797965392453fa',
  'open-outbound@4': '04f6c8769d17e4d2',
  'open-mail@1': '32572764de96f18c',
  'open-applications@1': '57e4c4481a5cbc27',
  'open-leads@4': '41fb56a3c3ba014e',
  'lead-hints@2': '66e2450cc5c2ddb4',
  'rfqs@5': '352bdcdeb6285955',
  'confirmed-lists@1': '134821af1cc7453d',
  'tasks@1': 'd8ca633d3ea5b92a',
  'push-configs@1': '25b3b35ccf3b8acf',
  'codes@3': '7b8fc9fd7f9b55ee',
  'review-tokens@4': '571cf75fc82a5288',
  'credentials@8': '1f538594de387845',
  'access@8': '7902bb5f619ed06d',
  'access-requests@2': '44b5291034b23012',
  'owners@1': '7aca90c7077fb64e',
  'erasures@2': '981c13761b90042d',
  'mailboxes@4': '36b534a1ffac6dd0',
  'performance@7': '1fd2cde1a4d4eb4e',
  'history@12': 'fa9d401ec81fa21e',
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
