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
  'links@2': '23294b20bf1db6d6',
  'handoffs@8': '6745be630d60e4a4',
  'handoff-leads@2': 'c3631f40da1a13c2',
  'leads@9': '19e151bc77e0c80e',
  'outbound@5': '23b1e6d0fc250705',
  'open-outbound@4': '2c248a00daf16036',
  'open-mail@1': '4b66ae8d7652be43',
  'open-applications@1': '45257463d8e47f4a',
  'open-leads@4': '14b3f89245b62a92',
  'lead-hints@2': 'ad091ecde9c55f2f',
  'rfqs@6': '1bb591434cfbcb75',
  'confirmed-lists@1': '4b13d85541f975d0',
  'tasks@1': '6640293e5f36755b',
  'push-configs@1': 'ee31ffb6583eb0a8',
  'codes@3': '23c70b0f94dc0283',
  'review-tokens@4': '47a3ac17d5c24567',
  'credentials@8': '67d4b1cc9d6b9c0a',
  'access@8': 'bb233535916b4bb5',
  'access-requests@2': 'b5f95be4f8a834da',
  'owners@1': 'bf8f32e14b7ddc0b',
  'erasures@2': '4b8881ce562ad1ab',
  'mailboxes@4': '4e4f825b009f04e8',
  'performance@7': '53cdbad71c9a689a',
  'history@12': 'af6d8353bd0429d1',
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
