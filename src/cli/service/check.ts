type Result = { state: 'ok' | 'warning' | 'fault'; detail: string };

export type Check = { name: string } & Result;

export const ok = (detail: string): Result => ({ state: 'ok', detail });
export const warning = (detail: string): Result => ({ state: 'warning', detail });
export const fault = (detail: string): Result => ({ state: 'fault', detail });

/** Runs a check; what it throws is a fault. */
export const runCheck = async (
  name: string,
  run: () => Result | Promise<Result>,
): Promise<Check> => {
  try {
    return { name, ...(await run()) };
  } catch (error) {
    return { name, ...fault((error as Error).message) };
  }
};
