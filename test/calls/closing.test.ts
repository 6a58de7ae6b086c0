/** Every error between opening and closing a service leaves nothing open and the directory unlocked. */
import { pino } from 'pino';
import { afterAll, expect, it, vi } from 'vitest';
import { readConfig } from '#src/config.ts';
import type { Service } from '#src/main.ts';
import { directories } from '../support/processes/directories.ts';
import { openService } from '../support/world/open-service.ts';

const { fresh, removeAll } = directories('closing-');
afterAll(removeAll);

const log = pino({ level: 'silent' });
const configOf = (directory: string) => readConfig({ DATA_DIR: directory, PORT: '0' });

it('A service whose interfaces cannot be built leaves nothing open', async () => {
  const config = configOf(fresh());
  const broken = openService({ ...config, trustProxy: 'no address' }, { log });
  await expect(broken).rejects.toThrow('no address');
  const service = await openService(config, { log });
  await service.close();
});

const BREAKS: [string, (service: Service) => void][] = [
  [
    'a server',
    ({ server }) => server.addHook('preClose', () => Promise.reject(new Error('not in order'))),
  ],
  [
    'the audit',
    ({ deps }) => vi.spyOn(deps.audit, 'flush').mockRejectedValue(new Error('not in order')),
  ],
];

it.each(BREAKS)(
  'A service closes everything else when %s fails to close',
  async (_what, break_) => {
    const config = configOf(fresh());
    const service = await openService(config, { log });
    break_(service);
    const stopped = vi.spyOn(service.dispatcher, 'stop');
    await expect(service.close()).rejects.toThrow('not in order');
    expect(stopped).toHaveBeenCalledOnce();
    await expect(service.deps.log.head()).rejects.toMatchObject({ reason: 'closed' });
    const again = await openService(config, { log });
    await again.close();
  },
);
