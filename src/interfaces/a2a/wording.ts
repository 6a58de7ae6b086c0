import { AGENT_BASE } from '#contracts/places.ts';
import { SKILLS } from '#contracts/tasks/skills.ts';
import type { TaskView } from '#src/tasks/task-view.ts';

/** Rewrites a text of the contract for A2A, which has no getConnection. */
export const inTaskWords = (text: string): string =>
  text.replaceAll('getConnection', `GET ${AGENT_BASE}/connection`);

/** Text of a task's status, with the missing scope: a task stores its skill and not the scope. */
export const statusText = ({ says, detail, skill }: TaskView): string => {
  const text = inTaskWords(says);
  const lacksScope = skill && detail && 'code' in detail && detail.code === 'scope_missing';
  return lacksScope ? `${text} ${SKILLS[skill].name} needs ${SKILLS[skill].needs}.` : text;
};
