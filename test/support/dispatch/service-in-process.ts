/** The service of a data directory in this process, beside or after one in a child process. */
import { pino } from 'pino';
import { readConfig } from '#src/config.ts';
import type { Service } from '#src/main.ts';
import { systemClock } from '#src/system/ids.ts';
import { UNLIMITED_APP } from '../unlimited.ts';
import { openService } from '../world/open-service.ts';

/** Opens the service, with a clock ahead by `laterMs` and without a running dispatcher, and closes it after `act`. */
export const withService = async <Value>(
  { settings, laterMs = 0 }: { settings: Record<string, string>; laterMs?: number },
  act: (service: Service) => Promise<Value>,
): Promise<Value> => {
  const real = systemClock();
  const clock = { ...real, now: () => real.now() + laterMs };
  const service = await openService(readConfig({ ...UNLIMITED_APP, ...settings }), {
    clock,
    log: pino({ level: 'silent' }),
  });
  try {
    return await act(service);
  } finally {
    await service.close();
  }
};
