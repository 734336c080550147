/** A service's `Authorization` header. White space around the key is ignored. @throws {TypeError} */
export function authorizationOf(given: string | undefined): string {
  const serviceKey = given?.trim() ?? '';
  if (!/^[\x21-\x39\x3b-\x7e]+:[\x21-\x7e]+$/.test(serviceKey))
    throw new TypeError('serviceKey must look like id:secret.');
  return `Basic ${btoa(serviceKey)}`;
}
