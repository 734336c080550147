// A browser without scripts: cookies and redirects.

export interface Visit {
  readonly url: string;
  readonly status: number;
  readonly text: string;
}

export type Visitor = ReturnType<typeof newVisitor>;

const maxRedirects = 10;

/** @param stopAt the service, whose pages a person must act on */
export function newVisitor(stopAt: string) {
  const jar = new Map<string, string>();
  const keep = (header: string) => {
    const [pair = ''] = header.split(';');
    const at = pair.indexOf('=');
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
    if (value === '' || /max-age=0|expires=thu, 01.jan.1970/i.test(header)) jar.delete(name);
    else jar.set(name, value);
  };
  /** Follows redirects, but not to an address below `stopAt`, which it returns with status 0. */
  const visit = async (url: string, init: RequestInit = {}, redirects = 0): Promise<Visit> => {
    if (url.startsWith(stopAt)) return { url, status: 0, text: '' };
    if (redirects > maxRedirects) throw new Error(`too many redirects, the last to ${url}`);
    const headers = new Headers(init.headers);
    headers.set('Cookie', [...jar].map((pair) => pair.join('=')).join('; '));
    const answer = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const cookie of answer.headers.getSetCookie()) keep(cookie);
    const location = answer.headers.get('Location');
    if (answer.status >= 300 && answer.status < 400 && location)
      return visit(new URL(location, url).href, {}, redirects + 1);
    return { url, status: answer.status, text: await answer.text() };
  };
  return { visit: (url: string, init?: RequestInit) => visit(url, init) };
}
