import { APPLICATION_EVENTS } from '#contracts/registries/events.ts';
import { application } from '#src/access/application.decider.ts';
import { openRecords } from '../open-records.ts';

/** The public applications that wait for their confirmation. */
export const openApplications = openRecords({
  name: 'open-applications',
  version: 1,
  handles: APPLICATION_EVENTS,
  begins: 'ApplicationReceived',
  keyOf: ({ data }) => ('subject' in data ? data.subject : data.application_id),
  fold: application.evolve,
  isSettled: ({ status }) => status !== 'waiting',
  lists: () => [],
});
