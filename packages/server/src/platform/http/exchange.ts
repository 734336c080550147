import { fieldLimits } from '@latchkey/contract/field-limits';
import type { Config } from '../config/config.ts';
import { corsHeaders } from './origin.ts';

/** What surrounds a request. */
export interface ConnectionInfo {
  /** The peer's address as the socket has it. */
  readonly peer: string | undefined;
}

const requestIdPattern = new RegExp(`^[A-Za-z0-9._-]{1,${fieldLimits.requestId}}$`);

/** What every answer carries, whatever was asked. */
const commonHeaders = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  Vary: 'Origin',
};
// Copied into each answer, which costs half as much as headers made from an object.
const emptyHeaders = new Headers(commonHeaders);
const jsonHeaders = new Headers({ ...commonHeaders, 'Content-Type': 'application/json' });

const noParams: Readonly<Record<string, string>> = {};

/** One request on its way to its answer, and what the log will say of it. */
export class Exchange {
  readonly request: Request;
  readonly env: ConnectionInfo;
  /** The caller's, where it is a good one, else a new one. */
  readonly requestId: string;
  /** The parameters in the path. */
  params = noParams;
  outcome = 'ok';
  detail: string | undefined;
  readonly #cors: Readonly<Record<string, string>> | undefined;
  #dressed = false;

  constructor(request: Request, env: ConnectionInfo, config: Config) {
    this.request = request;
    this.env = env;
    const given = request.headers.get('X-Request-Id');
    this.requestId = given !== null && requestIdPattern.test(given) ? given : crypto.randomUUID();
    this.#cors = corsHeaders(config, request.headers);
  }

  /** An answer in JSON, or without a body. */
  json(body: unknown, status = 200, headers?: Readonly<Record<string, string>>): Response {
    const response =
      body === undefined
        ? new Response(null, { status, headers: emptyHeaders })
        : new Response(JSON.stringify(body), { status, headers: jsonHeaders });
    for (const name in headers) response.headers.set(name, headers[name]!);
    this.#dressed = true;
    return this.#marked(response);
  }

  /** The answer with the headers that every one carries, where it has none of its own. */
  withCommonHeaders(response: Response): Response {
    if (this.#dressed) return response;
    for (const [name, value] of Object.entries(commonHeaders))
      if (!response.headers.has(name)) response.headers.set(name, value);
    return this.#marked(response);
  }

  #marked(response: Response): Response {
    response.headers.set('X-Request-Id', this.requestId);
    for (const name in this.#cors) response.headers.set(name, this.#cors[name]!);
    return response;
  }
}
