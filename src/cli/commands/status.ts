import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { parkedOf } from '#src/app/read-models/lag.ts';
import { demoFactsIn } from '#src/demo/facts.ts';
import { banner } from '../service/banner.ts';
import { type Common, configOf, leaf } from '../command.ts';
import { atDesk } from '../desk/desk-client.ts';
import { EXIT, Failure } from '../terminal/exit.ts';
import { finish } from '../terminal/output.ts';
import { findProcess } from '../service/server-file.ts';

const status = async (options: Common): Promise<void> => {
  const config = configOf(options);
  const { dataDirectory: directory } = config;
  const server = await findProcess(directory);
  if (!server) {
    const text = `No server runs on ${directory}. Start one: tributary serve --data ${directory}`;
    throw new Failure(EXIT.cannotStart, text, { running: false, data: directory });
  }
  const { url, pid, role } = server;
  if (role) {
    const text = `A ${role} runs on ${directory} (process ${pid}); ${url}/readyz tells how it is.`;
    finish(options, { running: true, role, url, pid, data: directory }, text);
    return;
  }
  const { head, data } = await atDesk(options, (desk) => desk.call('listProjections', {}));
  const facts = demoFactsIn(directory);
  const deskToken = readFileSync(join(directory, 'desk.token'), 'utf8').trim();
  const report = {
    running: true,
    url,
    pid,
    data: directory,
    events: head,
    parked: parkedOf(data),
    owner: facts?.owner ?? null,
    agent: facts?.agent_id ?? null,
    api_key: facts?.api_key ?? null,
    desk_token: deskToken,
    ...(facts?.review_path && { review_url: url + facts.review_path }),
  };
  const text = banner({
    url,
    config,
    head,
    readModels: data.map(({ lag_events, ...rest }) => ({ ...rest, lagEvents: lag_events })),
    ...(facts && { demo: { facts, deskToken } }),
  });
  finish(options, report, text);
};

export const statusCommand = (program: Command): void => {
  leaf(program, 'status', "the running service's addresses and keys, again").action(status);
};
