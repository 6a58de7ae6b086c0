import { memoryEventLog } from '../../support/memory-event-log.ts';
import { eventLogConformance } from '../../conformance/event-log.ts';
import { embeddedLogConformance } from '../../conformance/event-log-subscribe.ts';

const make = async () => {
  const log = memoryEventLog();
  return { log, cleanup: () => log.close() };
};

eventLogConformance('memory', make, embeddedLogConformance);
