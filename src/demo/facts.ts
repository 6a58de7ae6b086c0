/** The demo's facts that every start prints: stored in the data directory, readable only by its owner. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const shape = z.object({
  owner: z.string(),
  agent_id: z.string(),
  api_key: z.string(),
  /** A product for an example link. */
  sku: z.string(),
  /** Path of a review page that waits for its buyer. Absent until the story is complete. */
  review_path: z.string().optional(),
});

export type DemoFacts = z.infer<typeof shape>;

const fileIn = (directory: string): string => join(directory, 'demo.json');

export const demoFactsIn = (directory: string): DemoFacts | undefined => {
  try {
    return shape.safeParse(JSON.parse(readFileSync(fileIn(directory), 'utf8'))).data;
  } catch {
    return undefined;
  }
};

/** The log in which the story of this directory began; undefined if no start has stored it. */
export const demoLogIn = (directory: string): string | undefined => {
  try {
    const { log } = JSON.parse(readFileSync(fileIn(directory), 'utf8')) as { log?: string };
    return log;
  } catch {
    return undefined;
  }
};

/** `log`: the identity of the log that has the story. */
export const writeDemoFacts = (directory: string, facts: DemoFacts, log: string): void =>
  writeFileSync(fileIn(directory), `${JSON.stringify({ ...facts, log }, null, 2)}\n`, {
    mode: 0o600,
  });
