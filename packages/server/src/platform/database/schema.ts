/**
 * The tables, the same on both databases. Each is declared by the module that owns it, in its `tables.ts`. Times are milliseconds
 * since 1970, flags are 0 or 1, identifiers are text. The migrations describe the columns.
 */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface Tables {}
