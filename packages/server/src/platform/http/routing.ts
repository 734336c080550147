import { RegExpRouter } from 'hono/router/reg-exp-router';
import { getPath, tryDecode } from 'hono/utils/url';
import type { Exchange } from './exchange.ts';
import { type Operation, patternOf } from './operations.ts';

export type Handler = (exchange: Exchange) => Response | Promise<Response>;

export interface Route {
  /** The path with the names of its parameters: the route's name in the log and the metrics. */
  readonly pattern: string;
  readonly handler: Handler;
  /** The values of the path parameters, if the pattern has any. */
  readonly params?: Readonly<Record<string, string>>;
}

/**
 * The route table, and the description of each operation for the API document. It uses Hono's router without Hono's
 * contexts, which cost as much as everything else around a handler together.
 */
export class Routes {
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
  on(method: string, pattern: string, handler: Handler): void {
    this.#router.add(method, pattern, { pattern, handler });
    const known = this.#methods.get(pattern) ?? new Set();
    this.#methods.set(pattern, known.add(method));
    if (method === 'GET') known.add('HEAD');
  }

  /** Adds a handler for GET and HEAD. */
  get(pattern: string, handler: Handler): void {
    this.on('GET', pattern, handler);
  }

  /** Adds a handler for all other methods to every path registered so far. */
  onOtherMethods(handlerOf: (allowed: readonly string[]) => Handler): void {
    for (const [pattern, known] of this.#methods)
      this.#router.add('ALL', pattern, { pattern, handler: handlerOf([...known]) });
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
  find(method: string, path: string): Route | undefined {
    const [[first], matched] = this.#router.match(method === 'HEAD' ? 'GET' : method, path);
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
