/** The port's definition, with EventStoreDB's client against the stand-in. */
import { afterAll, beforeAll } from 'vitest';
import { eventLogConformance } from '../../conformance/event-log.ts';
import { patientLog } from '../../support/eventstoredb/eventstoredb-logs.ts';
import { endStandIns, standIn, type StandIn } from '../../support/eventstoredb/start.ts';

let server: StandIn;
beforeAll(async () => {
  server = await standIn();
});
afterAll(endStandIns);

const make = async () => {
  await server.tell({ name: 'reset' });
  const open = () => patientLog({ url: server.url, subscriberEventsMax: 500 });
  const log = await open();
  let current = log;
  const reopen = async () => {
    current = await open();
    return current;
  };
  return { log, reopen, cleanup: () => current.close() };
};

eventLogConformance('EventStoreDB, stand-in', make);
