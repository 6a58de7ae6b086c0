/** Where the request of a list is, as the steps on the pages of its buyer. */
import { html } from 'hono/html';
import type { Writer } from '#src/shared/money.ts';
import type { Html } from '#src/web/layout.ts';
import type { ReviewState } from './handoff.decider.ts';
import { isRfqOutcome } from './rfq.decider.ts';

const STEPS = ['list', 'sent', 'confirmed', 'taken_up', 'quoted', 'agreed', 'shipped'] as const;
type Step = (typeof STEPS)[number];

type Shown = {
  state: ReviewState;
  /**
   * Whether the page is behind a link that only the mailbox of the buyer gets. The agent that made the list knows its review
   * link, and must not see what staff do before there is an outcome.
   */
  isPrivate: boolean;
};

const stepOf = ({ state: { rfq, goods }, isPrivate }: Shown): Step => {
  if (!rfq) return 'list';
  if (rfq.confirmation) return 'sent';
  if (rfq.state === 'won') return isPrivate && goods?.shipments.length ? 'shipped' : 'agreed';
  if (!isPrivate) return 'confirmed';
  if (rfq.state === 'agreed') return 'agreed';
  if (rfq.state === 'in_progress') return 'taken_up';
  return rfq.quote ? 'quoted' : 'confirmed';
};

/** The steps of a request, with the one that it has reached; those after it are not named once it ended without a deal. */
export const progress = (shown: Shown, { say }: Writer): Html => {
  const { rfq } = shown.state;
  const reached = STEPS.indexOf(stepOf(shown));
  const isOver = rfq !== undefined && isRfqOutcome(rfq.state) && rfq.state !== 'won';
  const steps = isOver ? STEPS.slice(0, reached + 1) : STEPS;
  const names = steps.map((step) => say(`step_${step}`));
  if (isOver) names.push(say(rfq.state === 'withdrawn' ? 'step_withdrawn' : 'step_lost'));
  const current = isOver ? names.length - 1 : reached;
  return html`<ol class="steps" aria-label="${say('steps')}">${names.map(
    (name, index) =>
      html`<li${index < current && html` class="past"`}${index === current && html` aria-current="step"`}><span>${name}</span></li>`,
  )}</ol>`;
};
