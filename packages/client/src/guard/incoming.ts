import type { GuardedRequest } from './refusal.ts';

/** The part of Node's `IncomingMessage` that a guard reads. */
export interface IncomingRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** In Express, where a router may shorten `url`. */
  readonly originalUrl?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The part of Node's `ServerResponse` that sends a refusal. */
export interface OutgoingResponse {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: string): unknown;
}

/** Reads Node's headers like the headers of a web-standard `Request`. */
export const guardedRequest = ({ headers, method, url, originalUrl }: IncomingRequest): GuardedRequest => ({
  method,
  url: originalUrl ?? url,
  headers: {
    get: (name) => {
      const value = headers[name.toLowerCase()];
      return Array.isArray(value) ? value.join(', ') : (value ?? null);
    },
  },
});

/** Sends a guard's response through Node's. */
export async function sendResponse(outgoing: OutgoingResponse, response: Response): Promise<void> {
  const body = await response.text();
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(body);
}
