/** What a person sees when the service is ready, and again with `tributary status`. */
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { hostsOf } from '#src/adapters/hosts.ts';
import { parkedOf } from '#src/app/read-models/lag.ts';
import { type Config, isRemoteLog } from '#src/config.ts';
import type { DemoFacts } from '#src/demo/facts.ts';
import { count, plural, styled } from '../terminal/output.ts';
import { VERSION } from '../version.ts';

export type Shown = {
  url: string;
  config: Pick<Config, 'dataDirectory' | 'eventLogUrl'>;
  /** Seconds from the start of the process; absent when it was started long ago. */
  readyS?: number;
  /** Where the log ends: a count of its events, unless it is on a server. */
  head: number;
  readModels: { name: string; lagEvents: number; parked: readonly unknown[] }[];
  /** Demo only: without it nothing secret is printed. */
  demo?: { facts: DemoFacts; deskToken: string };
};

const here = (directory: string): string => {
  const path = relative(process.cwd(), directory) || '.';
  return path.startsWith('..') ? directory : `./${path}`.replace('./.', '.');
};

const row = (label: string, text: string): string => `  ${label.padEnd(12)} ${text}`;

const head = ({ readyS }: Shown): string => {
  const ready = readyS === undefined ? 'running' : `ready in ${readyS.toFixed(1)} s`;
  return styled('bold', `tributary ${VERSION}`) + ` · node ${process.versions.node} · ${ready}`;
};

/** A shell beside the service may lack the URL that the service was given: then the file tells. */
const logText = ({ config, head: position }: Shown): string => {
  const { dataDirectory, eventLogUrl } = config;
  if (eventLogUrl.startsWith('memory:')) return `in memory  ${plural(position, 'event')}`;
  if (existsSync(join(dataDirectory, 'log.db')))
    return `sqlite  ${here(dataDirectory)}/log.db  ${plural(position, 'event')}`;
  const hosts = isRemoteLog(config) ? `  ${hostsOf(eventLogUrl)}` : '';
  return `EventStoreDB${hosts}  position ${count(position)}`;
};

const stores = (shown: Shown): string[] => {
  const { readModels, demo } = shown;
  const caughtUp = readModels.filter(({ lagEvents }) => lagEvents === 0).length;
  const parked = parkedOf(readModels).join(', ');
  const held = parked && `, parked: ${parked} (see tributary projections status)`;
  const story = demo ? ' (with a demo story; DATA=dir starts elsewhere)' : '';
  return [
    row('Log', logText(shown) + story),
    row('Read models', `${count(caughtUp)} of ${count(readModels.length)} caught up${held}`),
  ];
};

const pages = ({ url, demo }: Shown): string[] => [
  row('Start page', `${url}/`),
  row('For agents', `${url}/llms.txt`),
  row('Docs', `${url}/docs`),
  row('OpenAPI', `${url}/api/affiliate/openapi.json`),
  row('Agent Card', `${url}/.well-known/agent-card.json`),
  row('Problems', `${url}/problems`),
  ...(demo ? [row('Buyer page', buyerPage(url, demo.facts))] : []),
];

export const UNTOLD =
  'The story of this demo was interrupted, or its demo.json was lost: half of it may be missing. ' +
  'Stop the service; make demo-reset, and the next start tells it anew.';

const buyerPage = (url: string, { review_path }: DemoFacts): string =>
  review_path ? url + review_path : styled('yellow', `none. ${UNTOLD}`);

const keys = ({ facts, deskToken }: NonNullable<Shown['demo']>): string[] => [
  row('Demo key', `SERVICE_API_KEY=${facts.api_key}`),
  row('', styled('dim', `agent of ${facts.owner}, all nine scopes; outbound ones only propose`)),
  row('Desk token', deskToken),
  row('', styled('dim', 'staff, operator, auditor and owner; ./tributary uses it by itself')),
];

const INITIALIZE = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} });

/** Each line works as it is pasted. */
const lines = ({ url }: Shown, { facts }: NonNullable<Shown['demo']>): string[] => {
  const api = `${url}/api/affiliate/v1`;
  const key = `-H "Authorization: Bearer ${facts.api_key}"`;
  const link = JSON.stringify({ target: { kind: 'product', ref: facts.sku }, campaign: 'hello' });
  return [
    row('Try', `curl -s ${api}/connection ${key}`),
    row('Search', `curl -s "${api}/products?q=mug&facets=category" ${key}`),
    row('Link', `curl -s ${api}/links ${key} -H "Content-Type: application/json" \\`),
    row('', `  -H "Idempotency-Key: hello-1" -d '${link}'`),
    row('Performance', `curl -s "${api}/performance?granularity=week" ${key}`),
    row('MCP', `curl -s ${url}/api/affiliate/mcp ${key} -H "Content-Type: application/json" \\`),
    row('', `  -d '${INITIALIZE}'`),
    row('Approvals', './tributary approvals list'),
  ];
};

export const banner = (shown: Shown): string => {
  const { demo, config } = shown;
  const blocks = [[head(shown)], stores(shown), pages(shown)];
  if (demo)
    blocks.push(keys(demo), lines(shown, demo), [
      row('', styled('yellow', 'Demo mode, plain HTTP, local only.')).trimEnd(),
    ]);
  else
    blocks.push([
      row('Desk token', `${here(config.dataDirectory)}/desk.token (readable by you alone)`),
    ]);
  return `${blocks.map((block) => block.join('\n')).join('\n\n')}\n`;
};
