/** What the demo tells at every start: kept beside the data, readable by its owner alone. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const shape = z.object({
  owner: z.string(),
  agent_id: z.string(),
  api_key: z.string(),
  /** A product to make a link to. */
  sku: z.string(),
  /** The buyer's page of a list that waits for its buyer: known once the story is told to its end. */
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

export const keepDemoFacts = (directory: string, facts: DemoFacts): void =>
  writeFileSync(fileIn(directory), `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 });
