/** Answers about leads, RFQs and other records. */
import type { DeskAnswer } from '../desk/desk-client.ts';

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
