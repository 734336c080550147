import type { z } from 'zod';
import type { EndpointGroup } from './endpoint-groups.ts';
import type { ErrorCode } from './errors.ts';
import { pagination } from './fields.ts';
import type { OwnScope, ServiceRight } from './scopes.ts';

/**
 * Who may call an endpoint.
 *
 * - `anyone`: no credential.
 * - `optional`: an access token or cookie is used if present.
 * - `bearer`: an access token or cookie.
 * - `browser`: an access token or cookie of a browser session.
 * - `recent`: like `browser`, and the user signed in recently.
 * - `service`: a service with its key.
 */
export type Access = 'anyone' | 'optional' | 'bearer' | 'browser' | 'recent' | 'service';

/** An API operation. Validation, types, clients and the OpenAPI document are all derived from it. */
export interface Endpoint {
  readonly id: string;
  /** A heading, in the imperative. */
  readonly title: string;
  /** The page of the reference that it is on. */
  readonly group: EndpointGroup;
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** Parameters in braces, as in OpenAPI. */
  readonly path: string;
  /** Each parameter of the path, with its description and example. */
  readonly params?: Readonly<Record<string, z.ZodType>>;
  /** One sentence without a full stop. */
  readonly summary: string;
  /** Details beyond the summary, in full sentences. */
  readonly notes?: string;
  readonly access: Access;
  /** A user's token needs one of these. Default: `*`, so that nothing is open to narrow tokens by mistake. */
  readonly scopes?: readonly OwnScope[];
  /** A cookie is accepted only from pages of this service, not from pages of allowed origins. */
  readonly ownOriginOnly?: true;
  /** Ending the caller's own session needs no scope, with `scope=session` or its own id in the path. */
  readonly endsOwnSession?: true;
  /** The calling service needs one of these rights. */
  readonly rights?: readonly ServiceRight[];
  readonly query?: z.ZodObject;
  /** Optional request headers, by name, with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The JSON body; an endpoint without this accepts none. */
  readonly body?: z.ZodType;
  /** Without a body, every member counts as absent. */
  readonly bodyOptional?: true;
  /** The form-encoded body of the same operation. */
  readonly form?: z.ZodType;
  readonly status: 200 | 201 | 202 | 204;
  /** The success status if the request created what it would otherwise have replaced. */
  readonly createdStatus?: 201;
  /** The success status of a response without a body, if that is possible, too. */
  readonly emptyStatus?: 204;
  /** The success status for a form, if it differs from `status`. */
  readonly formStatus?: 200;
  /** The response to a form, if it can differ from `response`. */
  readonly formResponse?: z.ZodType;
  /** Some requests need a service key besides or instead of what is in the body. */
  readonly takesServiceKey?: true;
  /** As a form, the user's credential may take the place of a token in the body. */
  readonly takesCredential?: true;
  readonly etag?: true;
  readonly response?: z.ZodType;
  /** The media type to request a signed response with, through `Accept`. */
  readonly signedAs?: string;
  /** Programs repeat the request all the time: while it succeeds, its log line has the level `debug`. */
  readonly isPolled?: true;
  /** What each code means here; `true`: as everywhere. Errors of reading and identifying are implied. */
  readonly errors: Partial<Readonly<Record<ErrorCode, string | true>>>;
}

/** Optional on requests with a user's credential: refused unless the credential belongs to this user id. */
export const userHeader = 'Latchkey-User';

/** Sent by our own pages: it proves where a request comes from without `Sec-Fetch-Site` and `Origin`. */
export const pageHeader = { name: 'Latchkey-Page', value: '1' } as const;

type Defaulted = 'status' | 'summary' | 'errors';

/** As it is declared. Its id is its name in the table, its status 200, its summary the title by default. */
export type Declared = Omit<Endpoint, 'id' | Defaulted> & Partial<Pick<Endpoint, Defaulted>>;

export const define = <const E extends Declared>(endpoint: E): E => endpoint;

export const auth = '/api/v1/auth';

/** Where an endpoint is: in the reference, and on the wire. */
export const at = <Group extends EndpointGroup, Method extends Endpoint['method'], Path extends string>(
  group: Group,
  method: Method,
  path: Path,
) => ({ group, method, path: `${auth}${path}` as const });

/** A paged list of the caller's own things. */
export const ownList = { access: 'bearer', query: pagination, errors: { invalid_request: true } } as const;

export const repeatable = (seconds: number) => ({
  'Idempotency-Key': `A unique value of 1-128 printable characters. Repeating the request with the same key returns the same tokens for ${seconds} seconds.`,
});
