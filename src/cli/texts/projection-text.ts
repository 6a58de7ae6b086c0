/** Texts of read models. */
import type { DeskAnswer } from '../desk/desk-client.ts';
import { formatCount, formatTable } from '../terminal/output.ts';

type Projection = DeskAnswer<'listProjections'>['data'][number];

const stateText = ({ parked: [first], rebuilding, lag_events }: Projection): string => {
  if (first) return `parked at ${first.position} in partition ${first.partition}: ${first.reason}`;
  if (rebuilding)
    return `rebuilding ${rebuilding.space}: ${rebuilding.position}/${rebuilding.head}`;
  return lag_events === 0 ? 'caught up' : `${formatCount(lag_events)} behind`;
};

export const projectionsText = ({ head, data }: DeskAnswer<'listProjections'>): string =>
  formatTable([
    ['READ MODEL', 'SPACE', 'CHECKPOINT', 'STATE'],
    ...data.map((one) => [one.name, one.space || '-', formatCount(one.checkpoint), stateText(one)]),
    ['log', '', formatCount(head), ''],
  ]);
