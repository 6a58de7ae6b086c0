import { visible } from '#src/shared/visible.ts';
import type { DeskAnswer } from '#src/cli/desk/desk-transport.ts';
import { formatPage } from './answer-text.ts';
import { formatCount, formatTable } from '../terminal/output.ts';

export const stateText = ({ id, owner_id, state }: DeskAnswer<'disableLink'>): string =>
  `${id} of ${owner_id} is ${state}.`;

const proposalText = ({
  proposed,
}: {
  proposed?: { number: number; to: string } | undefined;
}): string =>
  proposed
    ? ` Proposal ${proposed.number}, to ${proposed.to}, waits for the approval of another person.`
    : '';

export const leadText = (answer: DeskAnswer<'moveLead'>): string =>
  stateText(answer) + proposalText(answer);

export const rfqText = (answer: DeskAnswer<'moveRfq'>): string =>
  `The RFQ of ${answer.id} of ${answer.owner_id} is ${answer.state}.${proposalText(answer)}`;

export const planText = ({
  record_id,
  assigned_to,
  due_at,
  notes,
}: DeskAnswer<'addNote'>): string =>
  [
    `${record_id} is assigned to ${assigned_to ?? 'no person'}`,
    due_at === undefined ? 'has no next step' : `its next step is due at ${due_at}`,
    `notes: ${notes}.`,
  ].join('; ');

export const foundText = ({ contact, ...page }: DeskAnswer<'findPersonalData'>): string =>
  formatPage(page) +
  contact.refused
    .map(
      ({ owner_id, since }) =>
        `\nContact by ${owner_id ?? 'all promoters'} is refused since ${since}.`,
    )
    .join('');

export const exportText = (answer: DeskAnswer<'exportPersonalData'>): string =>
  visible(JSON.stringify(answer, null, 2)).shown;

type Projection = DeskAnswer<'listProjections'>['data'][number];

const projectionState = ({ parked: [first], rebuilding, lag_events }: Projection): string => {
  if (first) return `parked at ${first.position} in partition ${first.partition}: ${first.reason}`;
  if (rebuilding)
    return `rebuilding ${rebuilding.space}: ${rebuilding.position}/${rebuilding.head}`;
  return lag_events === 0 ? 'caught up' : `${formatCount(lag_events)} behind`;
};

export const projectionsText = ({ head, data }: DeskAnswer<'listProjections'>): string =>
  formatTable([
    ['READ MODEL', 'SPACE', 'CHECKPOINT', 'STATE'],
    ...data.map((one) => [
      one.name,
      one.space || '-',
      formatCount(one.checkpoint),
      projectionState(one),
    ]),
    ['log', '', formatCount(head), ''],
  ]);
