/** What an event says besides its type. Stored as JSON. */
export type EventDetail = Readonly<Record<string, string | number>>;

export const detailOf = (row: { readonly detail: string | null }): Record<string, string | number> =>
  row.detail === null ? {} : (JSON.parse(row.detail) as Record<string, string | number>);
