import Bowser from 'bowser';

/** What a browser's user agent comes to, like `Firefox on Linux`; undefined where it is none that is known. */
export function browserName(userAgent: string): string | undefined {
  if (!userAgent.startsWith('Mozilla/')) return undefined;
  const { browser, os } = Bowser.parse(userAgent);
  const names = [browser.name, os.name].filter(Boolean);
  return names.length === 0 ? undefined : names.join(' on ');
}
