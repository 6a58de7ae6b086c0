/** A child process that runs the commands of its parent: `node child.ts ROLE`. */
import type { FromChild, Role, ToChild } from './children.ts';
import type { Order } from './load.ts';
import type { Pressure } from './pressure.ts';
import { ROLES } from './roles.ts';

const [, , name = ''] = process.argv;
let close: (() => Promise<void>) | undefined;
let report: (() => Promise<unknown>) | undefined;
let otherCpuUs: (() => number) | undefined;

/** Returns microseconds since the start of the processes. */
const cpuUs = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system + (otherCpuUs?.() ?? 0);
};

const obey = async ({ name: order, argument }: ToChild): Promise<unknown> => {
  if (order === 'stop') return close?.();
  if (order === 'report') return report?.();
  if (order === 'cpu') return cpuUs();
  if (order === 'load') return (await import('./load.ts')).run(argument as Order);
  if (order === 'press') return (await import('./pressure.ts')).press(argument as Pressure);
  if (order !== 'start') throw new Error(`no order is called ${order}`);
  if (name === 'load') return undefined;
  const role = (await ROLES[name]?.()) as Role | undefined;
  if (!role) throw new Error(`no role is called ${name}`);
  const started = await role(argument as never);
  ({ close, report, otherCpuUs } = started);
  return started.details;
};

process.on('message', (message: ToChild) => {
  const { id } = message;
  const reply = (answer: Omit<FromChild, 'id'>): void => {
    process.send?.({ id, ...answer }, () => {
      if (message.name === 'stop') process.exit();
    });
  };
  obey(message).then(
    (answer) => reply({ answer }),
    (error: unknown) =>
      reply({ error: error instanceof Error ? String(error.stack) : String(error) }),
  );
});
process.on('disconnect', () => process.exit());
