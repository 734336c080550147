/** What an event says besides its type. Stored as JSON. */
export type EventDetail = Readonly<Record<string, string>>;

export const detailOf = (row: { readonly detail: string | null }): Record<string, string> =>
  row.detail === null ? {} : (JSON.parse(row.detail) as Record<string, string>);
