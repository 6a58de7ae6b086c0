import type { Config } from '#src/config.ts';
import { type Service, type ServiceOptions, startService } from '#src/main.ts';

/** Starts the service and waits until it is ready, however long that takes. */
export const openService = async (
  config: Config,
  options: ServiceOptions = {},
): Promise<Service> => {
  const service = await startService(config, options);
  try {
    await service.ready;
    return service;
  } catch (error) {
    await service.close();
    throw error;
  }
};
