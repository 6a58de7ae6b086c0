/** Form of the help texts, and the help command. */
import { type Argument, type Command, Help, type HelpConfiguration } from 'commander';

const { prototype: standard } = Help;

const WIDTH_DEFAULT = 80;

export const wrap = (text: string): string =>
  standard.boxWrap.call(new Help(), text, process.stdout.columns ?? WIDTH_DEFAULT);

const formatArgument = (argument: Argument): string => {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
};

const requiredFlagsOf = ({ options }: Command): string[] =>
  options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags.replace(/^-\w, /, ''));

export const HELP: HelpConfiguration = {
  commandUsage(command) {
    const usage = standard.commandUsage.call(this, command);
    return usage.replace(' [options]', ['', ...requiredFlagsOf(command), '[options]'].join(' '));
  },
  optionDescription(option) {
    const text = standard.optionDescription.call(this, option);
    return option.mandatory ? `${text} (required)` : text;
  },
  argumentTerm: formatArgument,
  subcommandTerm: (command) =>
    [command.name(), ...command.registeredArguments.map(formatArgument)].join(' '),
  /** Leaves out the help command that each group has. */
  visibleCommands(command) {
    const commands = standard.visibleCommands.call(this, command);
    return command.parent ? commands.filter((one) => one.name() !== 'help') : commands;
  },
};

/** Adds `help catalog import`, which prints the same as `catalog import --help`. */
export const addHelpCommand = (program: Command): void => {
  program
    .command('help [command...]')
    .description('Show the help of a command')
    .helpGroup('Service:')
    .action((words: string[]) => {
      let command = program;
      for (const word of words)
        command =
          command.commands.find((one) => one.name() === word || one.aliases().includes(word)) ??
          program.error(`error: unknown command '${words.join(' ')}'`);
      command.help();
    });
};
