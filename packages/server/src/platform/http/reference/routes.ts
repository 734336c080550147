import type { Product } from '../../config/product.ts';
import { once } from '../once.ts';
import type { Operation } from '../operations.ts';
import { withProduct } from '../product-pages.ts';
import type { Routes } from '../routing.ts';
import { fileResponse, storeFile } from '../stored-file.ts';
import { groupPath, groups, type ReferenceDocument, referenceOf } from './document.ts';
import { groupPage } from './group-page.ts';
import { overviewPage } from './overview.ts';

interface Source {
  readonly document: ReferenceDocument;
  readonly operations: readonly Operation[];
}

/** Serves the API reference: an overview and a page for each group. */
export function referenceRoutes(
  routes: Routes,
  source: () => Source,
  product: Product,
  headers: Record<string, string>,
): void {
  const reference = once(() => {
    const { document, operations } = source();
    return referenceOf(document, operations);
  });
  const serve = (path: string, make: () => string) => {
    const file = once(() => storeFile(withProduct(make(), product)));
    routes.get(path, ({ request }) => fileResponse(file(), request.headers, headers));
  };
  serve('/docs', () => overviewPage(reference()));
  for (const group of groups) serve(groupPath(group), () => groupPage(reference(), group));
}
