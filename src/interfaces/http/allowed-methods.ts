import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyInstance {
    /** The methods that a path answers, by the routes there are; none where there is no such path. */
    methodsOf(path: string): readonly string[];
  }
}

/** A fastify path as a pattern: `::` is a colon, `:name` a part of a path, with its own pattern or not. */
const patternOf = (url: string): RegExp => {
  const parts = url
    .replaceAll('.', '\\.')
    .replaceAll(/::|:\w+(?:\(\^([^)]+)\))?/g, (found, own?: string) =>
      found === '::' ? ':' : (own ?? '[^/]+'),
    );
  return new RegExp(`^${parts}$`);
};

/** Follows the routes as they are made, for what a 405 allows. To be called before the first of them. */
export const followMethods = (server: FastifyInstance): void => {
  const routes: { methods: readonly string[]; pattern: RegExp }[] = [];
  server.addHook('onRoute', ({ method, url }) => {
    // Nobody uses what OPTIONS tells but a browser, which asks for it unprompted.
    const methods = [method].flat().filter((one) => one !== 'OPTIONS');
    routes.push({ methods, pattern: patternOf(url) });
  });
  server.decorate('methodsOf', (path: string) => {
    const found = routes.filter(({ pattern }) => pattern.test(path));
    return [...new Set(found.flatMap(({ methods }) => methods))];
  });
};
