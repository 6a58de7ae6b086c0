import type { FastifyInstance } from 'fastify';

export type ServedRoute = { methods: readonly string[]; path: string };

/** Lists every route of a server, with made-up values of its parameters. */
export const routesOf = async (server: FastifyInstance): Promise<ServedRoute[]> => {
  await server.ready();
  const parents: string[] = [];
  return server
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', part = '', methods = ''] =
        /^((?:│ {3}| {4})*)[├└]── (\S+) \(([A-Z, ]+)\)$/.exec(line) ?? [];
      if (part === '') return [];
      const depth = indent.length / 4;
      parents.length = depth;
      const pattern = parents.join('') + part;
      parents.push(pattern === '/' ? '/' : part);
      const path = pattern.replaceAll(/(?<=\/):(\w+)(?:\([^)]*\))?/g, 'a1B2').replaceAll('::', ':');
      return [{ methods: methods.split(', '), path }];
    });
};
