import type { z } from 'zod';
import type { EventData } from '#contracts/registries/events.ts';
import type { target } from '#contracts/links/link.records.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';
import type { Deps } from '#src/calls/call.ts';

type Target = EventData<'LinkCreated'>['target'];

/** A page of this service, and the dimensions of links to it. */
export type Destination = {
  target: Target;
  url: string;
  dims: { product_id?: string; category?: string };
};

/** Returns the path of the page that shows a target. */
export const pathOfTarget = ({ kind, ref }: Target): string => {
  if (kind === 'product') return `/p/${ref}`;
  return kind === 'category' ? `/c/${encodeURIComponent(ref)}` : `/s?q=${encodeURIComponent(ref)}`;
};

/** Resolves a target to a page of this service, so that no link is an open redirect. */
export const resolveTarget = (
  deps: Pick<Deps, 'catalog' | 'origin'>,
  entered: z.output<typeof target>,
  pointer: string,
): Destination | Refusal => {
  const { catalog } = deps;
  const { kind, ref } = entered;
  const to = (found: Target, dims: Destination['dims']): Destination => ({
    target: found,
    url: deps.origin() + pathOfTarget(found),
    dims,
  });
  switch (kind) {
    case 'product': {
      const product = catalog.byId([ref]).get(ref) ?? catalog.bySku([ref]).get(ref);
      if (!product) return noTarget(pointer, 'no published product has this id or sku');
      const { product_id, category } = product;
      return to({ kind, ref: product_id }, { product_id, category });
    }
    case 'category':
      return catalog.hasCategory(ref)
        ? to(entered, { category: ref })
        : noTarget(pointer, 'the catalog has no such category');
    case 'search':
      return to(entered, {});
  }
};

const noTarget = (pointer: string, detail: string): Refusal =>
  refuse('link_target_invalid', 'The link would lead nowhere.', {
    errors: [{ pointer: `${pointer}/ref`, code: 'not_published', detail }],
  });
