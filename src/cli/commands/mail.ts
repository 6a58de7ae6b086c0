/** Commands for the messages in the data directory, which need no running service. */
import { listStoredMail, readStoredMail } from '#src/delivery/mail.ts';
import { mailDirectory } from '#src/wiring/dispatchers.ts';
import { type CommonOptions, commandLine, configFor } from '../options.ts';
import { noDataError } from '../service.ts';
import { isThere } from '#src/system/directory.ts';
import { CommandError, EXIT, formatTable, printResult } from '#src/cli/terminal.ts';

export const listMail = async (options: CommonOptions): Promise<void> => {
  const config = configFor(options);
  const directory = mailDirectory(config);
  if (!isThere(config.dataDirectory)) throw noDataError(config);
  const mails = await listStoredMail(directory);
  const rows = mails.map(({ id, date = '', to, subject }) => [id, date, to, subject]);
  printResult(
    options,
    { data: mails.map(({ text: _text, ...mail }) => mail) },
    rows.length > 0 ? formatTable(rows) : `There is no mail in ${directory}.`,
  );
};

export const showMail = async (id: string, options: CommonOptions): Promise<void> => {
  const { dataDirectory } = configFor(options);
  const directory = mailDirectory({ dataDirectory });
  const mail = await readStoredMail(directory, id);
  if (!mail)
    throw new CommandError(
      EXIT.refused,
      `There is no message ${id} in ${directory}: ${commandLine('mail list', dataDirectory)}`,
      { id },
    );
  const { date, from, to, subject, text } = mail;
  printResult(
    options,
    mail,
    `From: ${from}\nTo: ${to}\nDate: ${date}\nSubject: ${subject}\n\n${text}`,
  );
};
