import { Command } from 'commander';
import { type DeskOperationId, deskOperations } from '#contracts/registries/desk.ts';
import { defineOwnCommand, OWN_COMMANDS, type OwnCommand } from './commands/own-commands.ts';
import { addHelpCommand, HELP, wrap } from './terminal/help.ts';
import { defineDeskCommand } from './verbs/desk-command.ts';
import { TOPICS, topicOf } from './verbs/topics.ts';
import { type Registry, commandWordsOf } from './verbs/words.ts';
import { VERSION } from './version.ts';
import { EXIT_HELP } from './terminal/output.ts';

/** A command: its usage, and what adds the rest to it. */
type Entry = { usage: string; define(command: Command): void };

const ownEntry = (own: OwnCommand): Entry => ({
  usage: own.usage,
  define: (command) => defineOwnCommand(command, own),
});

/** Lists the own commands and, for each operation, its derived command or the own ones that call it. */
const entriesOf = (registry: Registry): Entry[] => {
  const own = Map.groupBy(OWN_COMMANDS, ({ calls }) => calls);
  const derived = Object.values(registry).flatMap((operation) => {
    const callers = own.get(operation.id as DeskOperationId);
    if (callers) return callers.map(ownEntry);
    const define = (command: Command) => defineDeskCommand(command, operation, registry);
    return { usage: commandWordsOf(operation), define };
  });
  return [...(own.get(undefined) ?? []).map(ownEntry), ...derived];
};

/** Names the own commands that call the desk, or those that do not. */
const namesOf = (callDesk: boolean): string =>
  OWN_COMMANDS.filter(({ calls }) => (calls !== undefined) === callDesk)
    .map(({ usage }) => usage.replace(/ [<[].*/, ''))
    .join(', ');

const ROOT_HELP = `
${wrap(`These commands act on this machine: ${namesOf(false)}.`)}
${wrap(`These call the desk several times: ${namesOf(true)}.`)}
${wrap('Every other command is one operation of the desk; its help names the operation and the roles.')}
`;

/** Adds an entry, in the group of its first word unless it is one word alone. */
const addEntry = (root: Command, { usage, define }: Entry): void => {
  const [, first = '', rest = ''] = /^(\S+) ?(.*)$/.exec(usage) ?? [];
  const [name, { section, about = `Commands of ${first}`, alias }] = topicOf(first);
  if (rest === '') {
    define(root.command(name).helpGroup(section));
    return;
  }
  let group = root.commands.find((command) => command.name() === name);
  if (!group) {
    group = root.command(name).helpGroup(section).description(about);
    if (alias !== undefined) group.alias(alias);
  }
  define(group.command(rest));
};

/** Makes the program. Faults of the command line are thrown, so that one place sets the exit status. */
export const program = (registry: Registry = deskOperations): Command => {
  const root = new Command('tributary')
    .description(
      'Attributed wholesale promotion for software agents, over one append-only log.\n' +
        'Commands call the server that runs on the data directory, or open the directory themselves.',
    )
    .version(VERSION, '-V, --version', 'Show the version')
    .helpOption('-h, --help', 'Show help')
    .helpCommand(false)
    .configureHelp(HELP)
    .showSuggestionAfterError()
    .addHelpText('after', ROOT_HELP + EXIT_HELP)
    .exitOverride();
  const order = Object.keys(TOPICS);
  const rank = ({ usage }: Entry): number => {
    const at = order.indexOf(topicOf(usage.split(' ')[0] ?? '')[0]);
    return at < 0 ? order.length : at;
  };
  for (const entry of entriesOf(registry).toSorted((a, b) => rank(a) - rank(b)))
    addEntry(root, entry);
  addHelpCommand(root);
  return root;
};
