import { AGENT_BASE } from '#contracts/places.ts';
import { SKILLS } from '#contracts/skills.ts';
import type { TaskView } from '#src/app/tasks/task-view.ts';

/** A text of the contract in the words of this surface, which has no operation of that name. */
export const inTaskWords = (text: string): string =>
  text.replaceAll('getConnection', `GET ${AGENT_BASE}/connection`);

/** What a task says; where a scope was missing, which: a task keeps its skill, and not the scope. */
export const saidBy = ({ says, detail, skill }: TaskView): string => {
  const told = inTaskWords(says);
  const lacked = skill && detail && 'code' in detail && detail.code === 'scope_missing';
  return lacked ? `${told} ${SKILLS[skill].name} needs ${SKILLS[skill].needs}.` : told;
};
