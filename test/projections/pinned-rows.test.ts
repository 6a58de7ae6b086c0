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
  'links@1': 'c8356557998bcafc',
  'handoffs@5': '2738fc9742153272',
  'handoff-leads@2': '6b4094c659aa2715',
  'leads@8': '4b4d12873188949e',
  'outbound@4': '2ea6d758cd7bf082',
  'open-outbound@4': 'a59494ff0cc31118',
  'open-mail@1': '305167ea58f4dd6c',
  'open-applications@1': 'b45e048ad7dc4d12',
  'open-leads@4': '733bbe20e704d905',
  'lead-hints@2': '34610dee9e817134',
  'rfqs@4': '55a0283df2554759',
  'tasks@1': 'e736f2ba09c243fe',
  'push-configs@1': '0aa99d824584fdec',
  'codes@2': 'cffac1329da2c22d',
  'review-tokens@3': 'd5e477ebed892208',
  'credentials@8': 'a1027b7aad4b81bd',
  'access@8': 'fcca5588addf0cde',
  'access-requests@2': 'e8c4405f6d4cd7da',
  'owners@1': '63ac54282928ba68',
  'erasures@2': '1603b6e699f21455',
  'mailboxes@4': '6cd111dbaadb22a0',
  'performance@6': '3e1b861a63321059',
  'history@11': '8321ae90584ce4ee',
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
