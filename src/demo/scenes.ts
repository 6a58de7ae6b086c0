/** A scene is played at its day; what the service answered is remembered for the later ones. */
import type { CodeRow } from '#src/ports/rows.ts';

export type Scene = { day: number; play(): Promise<unknown> };

/** What the story remembers of what the service answered, by the plot's names. */
export type Memory = {
  agents: Map<string, string>;
  links: Map<string, { id: string; code: CodeRow; shortCode: string }>;
  handoffs: Map<string, { id: string; token: string }>;
  leads: Map<string, string>;
};

export const memory = (): Memory => ({
  agents: new Map(),
  links: new Map(),
  handoffs: new Map(),
  leads: new Map(),
});

export const known = <Value>(from: Map<string, Value>, name: string): Value => {
  const value = from.get(name);
  if (value === undefined) throw new Error(`demo story: ${name} comes too early`);
  return value;
};
