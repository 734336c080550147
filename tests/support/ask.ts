// Raw requests and their answers, to a service in this process or in another one.

import { pageDataId } from '@latchkey/contract/page-data';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The JSON body; undefined if there is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary responses
  readonly body: any;
}

export interface Ask {
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as a form. */
  readonly form?: Record<string, string> | string;
  /** Sent unchanged. */
  readonly raw?: BodyInit;
  readonly token?: string;
  readonly cookie?: string;
  readonly headers?: Record<string, string>;
  /** The peer address reported by the socket. */
  readonly peer?: string;
}

const formType = 'application/x-www-form-urlencoded';

/** What to fetch. A path with a leading slash is below /api/v1/auth; any other path starts at the root. */
export function requestFor(
  base: string,
  method: string,
  path: string,
  { json, form, raw, token, cookie, headers }: Ask = {},
): [url: string, init: RequestInit & { readonly headers: Headers }] {
  const sent = new Headers(headers);
  if (token !== undefined) sent.set('Authorization', `Bearer ${token}`);
  if (cookie !== undefined) sent.set('Cookie', cookie);
  if (json !== undefined && !sent.has('Content-Type')) sent.set('Content-Type', 'application/json');
  if (form !== undefined) sent.set('Content-Type', formType);
  const asForm = form === undefined ? null : new URLSearchParams(form).toString();
  const body = raw ?? (json === undefined ? asForm : JSON.stringify(json));
  const url = `${base}${path.startsWith('/') ? `/api/v1/auth${path}` : `/${path}`}`;
  return [url, { method, headers: sent, body }];
}

/** What the data element of a page says. */
export const pageDataIn = <Data>({ text }: Pick<Answer, 'text'>): Data =>
  JSON.parse(
    text.split(`<script type="application/json" id="${pageDataId}">`)[1]?.split('</script>')[0] ?? 'null',
  );

export async function answerOf(response: Response): Promise<Answer> {
  const { status, headers } = response;
  const text = await response.text();
  const isJson = headers.get('Content-Type')?.startsWith('application/json');
  return { status, headers, text, body: isJson && text !== '' ? JSON.parse(text) : undefined };
}
