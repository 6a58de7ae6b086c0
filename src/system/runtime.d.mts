/**
 * Says why a Node with these versions cannot run the service, and which one can; undefined if it can. Default: this
 * process.
 */
export function runtimeFault(versions?: {
  node: string | undefined;
  sqlite: string | undefined;
}): string | undefined;
