import type { Context } from './context.ts';
import { listing } from './text.ts';

interface List {
  /** The same for programs. It has a `next_cursor` if the list was cut off. */
  readonly json: Readonly<Record<string, unknown>>;
  readonly heading: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** What is said instead of an empty list. */
  readonly none?: string;
  readonly above?: readonly string[];
}

export const printList = ({ output }: Context, { json, heading, rows, none, above = [] }: List): void =>
  output.result(json, (columns) =>
    rows.length === 0 && none !== undefined
      ? [none]
      : [
          ...above,
          ...listing(heading, rows, columns),
          ...(json['next_cursor'] ? ['There are more than are shown here.'] : []),
        ],
  );
