import { RegExpRouter } from 'hono/router/reg-exp-router';
import { getPath, tryDecode } from 'hono/utils/url';
import type { Exchange } from './exchange.ts';
import { type Operation, patternOf } from './operations.ts';

export type Handler = (exchange: Exchange) => Response | Promise<Response>;

export interface Route {
  /** The path with the names of its parameters: the route's name in the log and the metrics. */
  readonly pattern: string;
  readonly handler: Handler;
  readonly isPolled?: boolean | undefined;
  /** The values of the path parameters, if the pattern has any. */
  readonly params?: Readonly<Record<string, string>>;
}

/** The entry of a path for all methods without one of their own. */
const otherMethods = 'ALL';

const hasParameters = (pattern: string): boolean => /[:*]/.test(pattern);

/**
 * The route table, and the description of each operation for the API document. It uses Hono's router without Hono's
 * contexts, which cost as much as everything else around a handler together.
 *
 * A path without parameters is never taken for the value of a parameter, whatever the method: where there is
 * POST /users/lookup, GET /users/lookup is not GET /users/:user_id. The router cannot express this, so such paths are in a
 * table of their own, by path and then by method.
 */
export class Routes {
  readonly #literal = new Map<string, Map<string, Route>>();
  readonly #router = new RegExpRouter<Route>();
  readonly #methods = new Map<string, Set<string>>();
  readonly #operations: Operation[] = [];

  get operations(): readonly Operation[] {
    return this.#operations;
  }

  /** Adds an operation to the API document. It does not add a route. */
  describe(operation: Operation): void {
    this.#operations.push(operation);
  }

  /** Adds a handler. Path parameters are written `:name`. The first route that matches wins. */
  on(method: string, pattern: string, handler: Handler, more?: Pick<Route, 'isPolled'>): void {
    this.#add(method, { pattern, handler, ...more });
    const known = this.#methods.get(pattern) ?? new Set();
    this.#methods.set(pattern, known.add(method));
    if (method === 'GET') known.add('HEAD');
  }

  #add(method: string, route: Route): void {
    const { pattern } = route;
    if (hasParameters(pattern)) {
      this.#router.add(method, pattern, route);
      return;
    }
    const routes = this.#literal.get(pattern) ?? new Map<string, Route>();
    if (!routes.has(method)) this.#literal.set(pattern, routes.set(method, route));
  }

  /** Adds a handler for GET and HEAD. */
  get(pattern: string, handler: Handler): void {
    this.on('GET', pattern, handler);
  }

  /** Adds a handler for all other methods to every path registered so far. */
  onOtherMethods(handlerOf: (allowed: readonly string[]) => Handler): void {
    for (const [pattern, known] of this.#methods)
      this.#add(otherMethods, { pattern, handler: handlerOf([...known]) });
  }

  /** Every pattern and method with a handler, and the statuses that the API document lists for it. */
  *answered(): Generator<{ pattern: string; method: string; statuses: string[] }> {
    const described = new Map<string, string[]>();
    for (const { method, path, responses } of this.#operations)
      described.set(`${method.toUpperCase()} ${patternOf(path)}`, Object.keys(responses));
    for (const [pattern, known] of this.#methods) {
      for (const method of known) {
        const describedMethod = method === 'HEAD' ? 'GET' : method;
        yield { pattern, method, statuses: described.get(`${describedMethod} ${pattern}`) ?? ['200'] };
      }
    }
  }

  /** HEAD finds the route of GET. */
  find(requestMethod: string, path: string): Route | undefined {
    const method = requestMethod === 'HEAD' ? 'GET' : requestMethod;
    const literal = this.#literal.get(path);
    if (literal) return literal.get(method) ?? literal.get(otherMethods);
    const [[first], matched] = this.#router.match(method, path);
    if (!first) return undefined;
    const [route, indexes] = first;
    return matched?.length
      ? { ...route, params: paramsOf(indexes as Record<string, number>, matched) }
      : route;
  }
}

/** The path of a request, decoded the way patterns are written. */
export const pathOf = (request: Request): string => getPath(request);

function paramsOf(
  indexes: Readonly<Record<string, number>>,
  matched: readonly string[],
): Readonly<Record<string, string>> {
  const params: Record<string, string> = {};
  for (const name in indexes) params[name] = tryDecode(matched[indexes[name]!]!, decodeURIComponent);
  return params;
}
