import { viewCategory, viewProduct, viewSearch } from '../catalog/view-products.ts';
import { locateLink, visitLink } from './visit-link.ts';
import type { VisitorHandlers } from './visitor-handler.ts';

/** The handler of each operation that needs no credential, one line each. */
export const visitorHandlers: VisitorHandlers = {
  visitLink,
  locateLink,
  viewProduct,
  viewCategory,
  viewSearch,
};
