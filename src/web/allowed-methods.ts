import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyInstance {
    /** The methods of the routes that match a path; empty when none does. */
    methodsOf(path: string): readonly string[];
  }
}

/** Converts a fastify path: `::` is a colon, `:name` a segment, optionally with its own pattern. */
const patternOf = (url: string): RegExp => {
  const parts = url
    .replaceAll('.', '\\.')
    .replaceAll(/::|:\w+(?:\(\^([^)]+)\))?/g, (part, own?: string) =>
      part === '::' ? ':' : (own ?? '[^/]+'),
    );
  return new RegExp(`^${parts}$`);
};

/** Collects the methods of all routes, for the Allow header of a 405. Call it before the first route is added. */
export const collectMethods = (server: FastifyInstance): void => {
  const routes: { methods: readonly string[]; pattern: RegExp }[] = [];
  server.addHook('onRoute', ({ method, url }) => {
    // OPTIONS is for the preflight requests of browsers.
    const methods = [method].flat().filter((one) => one !== 'OPTIONS');
    routes.push({ methods, pattern: patternOf(url) });
  });
  server.decorate('methodsOf', (path: string) => {
    const matching = routes.filter(({ pattern }) => pattern.test(path));
    return [...new Set(matching.flatMap(({ methods }) => methods))];
  });
};
