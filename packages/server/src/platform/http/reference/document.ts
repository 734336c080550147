import { endpoints } from '@latchkey/contract/endpoints';
import type { DescribedApi, DocumentOptions, Schema } from '../openapi.ts';
import type { Operation } from '../operations.ts';

export const jsonType = 'application/json';
export const formType = 'application/x-www-form-urlencoded';

export type ReferenceOperation = Operation<Schema>;

/** What the page is made from. */
export interface Reference extends DocumentOptions {
  readonly operations: readonly ReferenceOperation[];
  readonly resolve: Resolve;
}

/** Follows a reference to a shared schema. Members next to the reference take precedence. */
export type Resolve = (schema: Schema) => Schema;

const endpointOrder = Object.keys(endpoints);

/** In the order of the contract, then what is not an endpoint. */
const rankOf = ({ id }: ReferenceOperation): number =>
  id in endpoints ? endpointOrder.indexOf(id) : endpointOrder.length;

export const referenceOf = ({ operations, schemas }: DescribedApi, options: DocumentOptions): Reference => ({
  ...options,
  operations: operations.toSorted((a, b) => rankOf(a) - rankOf(b)),
  resolve: ({ $ref, ...own }) => ($ref === undefined ? own : { ...schemas[$ref.split('/').at(-1)!], ...own }),
});

/** The successful responses, by status. */
export const resultsOf = ({ responses }: ReferenceOperation) =>
  Object.entries(responses)
    .filter(([status]) => Number(status) < 400)
    .map(([status, { description: reason, content = {} }]) => ({ status, reason, content }));
