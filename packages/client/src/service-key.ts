/** The `Authorization` header of a service with its key. @throws {TypeError} for a malformed key */
export function authorizationOf(serviceKey: string): string {
  if (!/^[\x21-\x39\x3b-\x7e]+:[\x21-\x7e]+$/.test(serviceKey))
    throw new TypeError('A service key looks like id:secret.');
  return `Basic ${btoa(serviceKey)}`;
}
