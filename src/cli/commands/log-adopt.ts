/** Makes this installation belong to the log that its server has now. */
import { systemIds } from '#src/system/ids.ts';
import { type Config, isRemoteLog, redactUrl } from '#src/config.ts';
import { adoptLog } from '#src/wiring/adopt-log.ts';
import { openSecrets } from '#src/wiring/vault.ts';
import { type CommonOptions, configFor } from '../options.ts';
import { deskInProcess } from '../desk/desk-in-process.ts';
import {
  CommandError,
  EXIT,
  formatPlural,
  print,
  printNotice,
  printResult,
} from '../terminal/output.ts';

const HALT_REASON = 'The log was replaced: check which requests were sent already, then resume.';

const textOf = (files: readonly string[], readModels: number, isEmpty: boolean): string =>
  [
    `Local databases and catalog: ${files.length > 0 ? `removed (${files.join(', ')})` : 'none here'}; ` +
      'the next start fills them from the adopted log.',
    `Redis: ${formatPlural(readModels, 'read model')} removed; a projector fills them again.`,
    'Credentials: API keys, desk tokens and review links are those of the adopted log. One that was revoked after ' +
      'a backup works again: revoke it. The next start writes desk.token.',
    isEmpty
      ? 'Outbox: its files stay. The next start makes a new log, without any request.'
      : 'Outbox: its files stay. Outreach is halted for everybody, because requests that were sent after a backup ' +
        'count as not sent: compare them, then run tributary outreach resume.',
  ].join('\n');

/** Halts outreach in the adopted log: what was sent after a backup would be sent again. */
const haltOutreach = async (config: Config): Promise<void> => {
  const key = `log-adopt-${systemIds().uuid()}`;
  printNotice(
    'Halting outreach: if this fails, run `tributary outreach halt` before any other process.',
  );
  const desk = await deskInProcess(config);
  try {
    await desk.send('haltOutreach', { reason: HALT_REASON, idempotency_key: key }, key);
  } finally {
    await desk.close();
  }
};

export const adoptRemoteLog = async (
  known: string,
  found: string,
  options: CommonOptions,
): Promise<void> => {
  const config = configFor(options);
  if (!isRemoteLog(config))
    throw new CommandError(
      EXIT.usage,
      'EVENT_LOG_URL names no server. The log of a data directory cannot be replaced by another: use that directory.',
    );
  const isEmpty = found === 'none';
  // Without its secret the halt would fail after everything else was done.
  if (!isEmpty) openSecrets(config);
  const { places, files, readModels } = await adoptLog(config, { known, found });
  const url = redactUrl(config.eventLogUrl);
  const report = { known, found, url, places, files, read_models: readModels };
  if (places.length === 0) {
    printResult(
      options,
      report,
      `Nothing to adopt: nothing here belongs to a different log from ${url}.`,
    );
    return;
  }
  if (!options.json) print(`Adopting log ${found} at ${url} for ${places.join(' and ')}.`);
  if (!isEmpty) await haltOutreach(config);
  printResult(
    options,
    { ...report, outreach_halted: !isEmpty },
    textOf(files, readModels, isEmpty),
  );
};
