/** The same on both databases. Times are milliseconds since 1970, flags 0 or 1. See the migrations. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface Tables {}
