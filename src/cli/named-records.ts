/** Names of records as people write them: references, beginnings of ids, and names of agents and promoters. */
import type { DeskOperation } from '#contracts/operation.ts';
import type { Desk, DeskAnswer } from './transport.ts';
import { CommandError, EXIT, formatTable } from './terminal.ts';

type Found = DeskAnswer<'searchDesk'>['data'][number];

/** The fields of inputs that name a record, and the kinds of records that each can name. */
const NAMING: Readonly<Record<string, readonly Found['kind'][]>> = {
  owner_id: ['owner'],
  handoff_id: ['handoff'],
  lead_id: ['lead'],
  agent_id: ['agent'],
  record_id: ['handoff', 'lead', 'agent'],
};

const severalError = (text: string, found: readonly Found[]): CommandError =>
  new CommandError(
    EXIT.usage,
    `${text} names ${found.length} records; give the id of one:\n` +
      formatTable(
        found.map(({ id, kind, owner_id = '', name = '' }) => [id, kind, owner_id, name]),
      ),
  );

const MISTYPED = 'looks like a reference, and its last character does not fit: it is mistyped';

/** The id of the only record that a text names; the text itself if it names none. */
const idNamed = async (
  desk: Desk,
  {
    text,
    kinds,
    owner_id,
  }: { text: string; kinds: readonly string[]; owner_id: string | undefined },
): Promise<string> => {
  const { data, mistyped } = await desk.call('searchDesk', { text, owner_id });
  const found = data.filter(
    ({ kind, by }) => kinds.includes(kind) && by !== 'company' && by !== 'title',
  );
  const [one, another] = new Map(found.map((each) => [each.id, each])).values();
  if (another) throw severalError(text, found);
  if (!one && mistyped) throw new CommandError(EXIT.usage, `${text} ${MISTYPED}.`);
  return one?.id ?? text;
};

/** Replaces what names a record by its id, where it is not an id already. */
export const nameRecords = async (
  desk: Desk,
  { input }: DeskOperation,
  request: object,
): Promise<Record<string, unknown>> => {
  const named: Record<string, unknown> = { ...request };
  for (const [field, kinds] of Object.entries(NAMING)) {
    const text = named[field];
    const schema = input.shape[field];
    if (typeof text !== 'string' || text === '' || !schema || schema.safeParse(text).success)
      continue;
    const owner = field === 'owner_id' ? undefined : named['owner_id'];
    const owner_id = typeof owner === 'string' ? owner : undefined;
    named[field] = await idNamed(desk, { text, kinds, owner_id });
  }
  return named;
};
