/** How help is written and asked for: what a command cannot do without stands in its usage. */
import { type Command, Help, type HelpConfiguration } from 'commander';

const { prototype: usual } = Help;

const requiredOf = (command: Command): string[] =>
  command.options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags);

export const HELP: HelpConfiguration = {
  commandUsage(command) {
    const text = usual.commandUsage.call(this, command);
    return text.replace(' [options]', ['', ...requiredOf(command), '[options]'].join(' '));
  },
  optionDescription(option) {
    const text = usual.optionDescription.call(this, option);
    return option.mandatory ? `${text} (required)` : text;
  },
};

/** `help catalog import` is `catalog import --help`. */
export const helpCommand = (program: Command): void => {
  program
    .command('help [command...]')
    .description('what a command does, and what it takes')
    .action((words: string[]) => {
      let at = program;
      for (const word of words) {
        const found = at.commands.find((command) => command.name() === word);
        at = found ?? program.error(`error: unknown command '${words.join(' ')}'`);
      }
      at.help();
    });
};
