/** Commands of the desk are derived from its registry. */
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type DeskOperationId, deskOperations } from '#contracts/registries/desk.ts';
import { type DeskOperation, defineDeskOperation, registryOf } from '#contracts/operation.ts';
import { OWN_COMMANDS, program } from '#src/cli/program.ts';
import { formatPointer, commandWordsOf } from '#src/cli/verbs.ts';

/** Those without a page, on which alone a person does the others. */
const operations = (Object.values(deskOperations) as DeskOperation[]).filter(
  ({ isOnPage = false }) => !isOnPage,
);

const commandAt = (words: string, root = program()): Command | undefined =>
  words
    .split(' ')
    .reduce<Command | undefined>(
      (command, word) =>
        command?.commands.find((one) => one.name() === word || one.aliases().includes(word)),
      root,
    );

const helpOf = (command: Command | undefined): string => {
  let text = '';
  command?.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 200 });
  command?.outputHelp();
  return text;
};

describe('The command of a desk operation', () => {
  it.each(operations.map((operation) => [operation.id, operation] as const))(
    "A desk operation's command exists for %s, and has a flag or an argument for each required field",
    (id, operation) => {
      const command = commandAt(commandWordsOf(operation));
      expect(command, commandWordsOf(operation)).toBeDefined();
      if (!command || OWN_COMMANDS.some(({ calls }) => calls === id)) return;
      const words = [
        ...command.options.map(({ long }) => long ?? ''),
        ...command.registeredArguments.flatMap((each) => [`<${each.name()}>`, `[${each.name()}]`]),
      ];
      for (const field of Object.keys(operation.input.shape))
        if (!(field === 'limit' || field === 'before') || words.includes('--limit'))
          expect(words, field).toContain(formatPointer(`/${field}`, id as DeskOperationId));
      expect(helpOf(command)).toContain(`Desk operation: ${id}, ${operation.http.method} `);
    },
  );

  it("A desk operation's command has words that no other operation has", () => {
    const words = operations.map(commandWordsOf);
    expect(words.toSorted()).toEqual([...new Set(words)].toSorted());
  });

  it("A desk operation's command is derived for an operation that no table names", () => {
    const pauseLink = defineDeskOperation({
      kind: 'command',
      roles: ['staff'],
      http: { method: 'POST', path: '/links/{link_id}/pause', status: 200 },
      summary: 'Pause a link',
      guidance: 'Without until_position it is paused until disableLink.',
      input: z.strictObject({
        idempotency_key: z.string(),
        link_id: z.string(),
        owner_id: z.string().describe('The promoter'),
        until_position: z.int().min(1).max(9).default(3).describe('End of the pause'),
        modes: z.array(z.enum(['hard', 'soft'])).optional(),
        is_final: z.boolean().optional(),
      }),
      output: z.object({ id: z.string() }),
      problems: [],
      examples: [],
    });
    const text = helpOf(
      commandAt('link pause', program({ ...deskOperations, ...registryOf({ pauseLink }) })),
    );
    expect(text).toContain('Usage: tributary link pause --owner <id> [options] <link>');
    expect(text).toMatch(/-o, --owner <id> +The promoter \(required\)/);
    expect(text).toMatch(/--until-position <n> +End of the pause \(default: 3\)/);
    expect(text).toMatch(/--modes <list> +Modes: hard, soft/);
    expect(text).toMatch(/--is-final \[true\|false\] +Is final/);
    expect(text).toMatch(/--idempotency-key <key> /);
    expect(text).toContain('Without --until-position it is paused until "link disable".');
    expect(text).toContain('POST /api/desk/v1/links/{link_id}/pause');
  });
});

describe('A fault of an input', () => {
  it.each([
    ['requestAccess', '/agent_id', '--agent'],
    ['approveAccess', '/agent_id', '<agent>'],
    ['approveAccess', '/scopes/1', '--scopes, no. 2'],
    ['configureOutreach', '/channels/1/url', '--channel, no. 2, url'],
    ['readEvents', '/up_to', '--at'],
    ['importProducts', '/products/0/product/sku', '/products/0/product/sku'],
    ['approveAccess', '/idempotency_key', '--idempotency-key'],
    ['approveAccess', '', '/'],
  ] as const)('A fault of the input of %s at %j is named %s', (id, pointer, word) => {
    expect(formatPointer(pointer, id)).toBe(word);
  });
});

describe('The help of the program', () => {
  it("The program's help names each command that is not one operation of the desk", () => {
    const text = helpOf(program()).replaceAll(/\s+/g, ' ');
    for (const { usage } of OWN_COMMANDS) expect(text).toContain(usage.replace(/ [<[].*/, ''));
  });
});
