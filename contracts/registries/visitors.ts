/** The operations of visitors. */
import { visitOperations } from '#contracts/links/operations.ts';
import { registryOf } from '#contracts/operation.ts';

export const visitorOperations = registryOf(visitOperations);

export type VisitorOperations = typeof visitorOperations;
