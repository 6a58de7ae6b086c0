import type { z } from 'zod';
import type { VisitorOperations } from '#contracts/registries/visitors.ts';
import type { Listing, ShownList, ShownProduct } from './view-products.ts';
import type { Deps } from '#src/calls/call.ts';
import type { VisitorCall } from '#src/shared/call.ts';
import type { Outcome } from '#src/shared/outcome.ts';
import type { SignaturesOf } from '#src/calls/rules.ts';
import type { Visits } from './visits.ts';

export type VisitorDeps = Deps & { visits: Visits };

/** The answer of each operation, for the page that shows it. */
type Answers = {
  visitLink: { target?: string };
  locateLink: { code: string; url: string };
  viewProduct: ShownProduct;
  viewCategory: Listing;
  viewSearch: Listing;
  viewList: ShownList;
};

export type VisitorHandler<Id extends keyof VisitorOperations> = (
  deps: VisitorDeps,
  input: z.output<VisitorOperations[Id]['input']>,
  call: VisitorCall,
) => Promise<Outcome<Answers[Id]>>;

/** One handler per operation: a missing one does not compile. */
export type VisitorHandlers = { [Id in keyof VisitorOperations]: VisitorHandler<Id> };

export type VisitorSignatures = SignaturesOf<VisitorHandlers>;
