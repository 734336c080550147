import Bowser from 'bowser';

/** The browser and system of a user agent, such as `Firefox on Linux`; undefined if it is not a known browser. */
export function browserName(userAgent: string): string | undefined {
  if (!userAgent.startsWith('Mozilla/')) return undefined;
  const { browser, os } = Bowser.parse(userAgent);
  const names = [browser.name, os.name].filter(Boolean);
  return names.length === 0 ? undefined : names.join(' on ');
}
