type Shown<Row, Name extends keyof Row> = {
  [N in Name]: N extends `${string}_at` ? string | Extract<Row[N], null> : Row[N];
};

/** Columns of a row under the same names in a response, where times are RFC 3339. */
export const shown = <Row, const Name extends keyof Row & string>(row: Row, names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, shownValue(name, row[name])])) as Shown<Row, Name>;

/** A column whose name ends with `_at` holds milliseconds since 1970. */
export const shownValue = (column: string, value: unknown): unknown =>
  column.endsWith('_at') && typeof value === 'number' ? new Date(value).toISOString() : value;
