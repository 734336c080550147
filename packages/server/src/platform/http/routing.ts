import { RegExpRouter } from 'hono/router/reg-exp-router';
import { getPath, tryDecode } from 'hono/utils/url';
import type { Exchange } from './exchange.ts';
import type { Operation } from './openapi.ts';

export type Handler = (exchange: Exchange) => Response | Promise<Response>;

interface Route {
  /** The path with its parameters' names: what log and metrics call it. */
  readonly pattern: string;
  readonly handler: Handler;
  /** What stood for them in the path; none where the pattern has none. */
  readonly params?: Readonly<Record<string, string>>;
}

/**
 * Which handler answers a method and a path, and the description of each operation. Hono's router without Hono's
 * contexts: these cost as much as everything else around a handler together.
 */
export class Routes {
  readonly #router = new RegExpRouter<Route>();
  readonly #methods = new Map<string, Set<string>>();
  readonly #operations: Operation[] = [];

  /** What the document of the interface will say. */
  get operations(): readonly Operation[] {
    return this.#operations;
  }

  /** Adds to the document of the interface. It answers nothing. */
  describe(operation: Operation): void {
    this.#operations.push(operation);
  }

  /** Adds a handler; parameters stand in the path as `:name`. What was added first wins. */
  on(method: string, pattern: string, handler: Handler): void {
    this.#router.add(method, pattern, { pattern, handler });
    const known = this.#methods.get(pattern) ?? new Set();
    this.#methods.set(pattern, known.add(method));
    if (method === 'GET') known.add('HEAD');
  }

  /** A handler for GET, and so for HEAD. */
  get(pattern: string, handler: Handler): void {
    this.on('GET', pattern, handler);
  }

  /** Adds to every path known by now a handler for all its other methods. */
  onOtherMethods(handlerOf: (allowed: readonly string[]) => Handler): void {
    for (const [pattern, known] of this.#methods)
      this.#router.add('ALL', pattern, { pattern, handler: handlerOf([...known]) });
  }

  /** Every pattern with each method that it answers, and the statuses that the document names for it. */
  *answered(): Generator<{ pattern: string; method: string; statuses: string[] }> {
    const described = new Map<string, string[]>();
    for (const { method, path, responses } of this.#operations) {
      const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1');
      described.set(`${method.toUpperCase()} ${pattern}`, Object.keys(responses));
    }
    for (const [pattern, known] of this.#methods) {
      for (const method of known) {
        const likeGet = method === 'HEAD' ? 'GET' : method;
        yield { pattern, method, statuses: described.get(`${likeGet} ${pattern}`) ?? ['200'] };
      }
    }
  }

  /** HEAD is answered by what answers GET. */
  find(method: string, path: string): Route | undefined {
    const [[first], matched] = this.#router.match(method === 'HEAD' ? 'GET' : method, path);
    if (!first) return undefined;
    const [route, places] = first;
    return matched?.length
      ? { ...route, params: paramsOf(places as Record<string, number>, matched) }
      : route;
  }
}

/** The path of a request, unescaped as routes have it. */
export const pathOf = (request: Request): string => getPath(request);

function paramsOf(
  places: Readonly<Record<string, number>>,
  matched: readonly string[],
): Readonly<Record<string, string>> {
  const params: Record<string, string> = {};
  for (const name in places) params[name] = tryDecode(matched[places[name]!]!, decodeURIComponent);
  return params;
}
