import { fillText } from './texts.ts';

/** Most specific first: many browsers also name the ones that they descend from. */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Microsoft Edge'],
  [/\b(?:OPR|OPT|OPiOS|Opera)\b/, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\bYaBrowser\//, 'Yandex Browser'],
  [/\bDuckDuckGo\/|\bDdg\//, 'DuckDuckGo'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\bChromium\//, 'Chromium'],
  [/(?:Chrome|CriOS)\//, 'Chrome'],
  [/\bAndroid\b/, 'Android Browser'],
  [/\bSafari\//, 'Safari'],
];

const systems: readonly (readonly [RegExp, string])[] = [
  [/\bWindows\b/, 'Windows'],
  [/\b(?:iPhone|iPad|iPod)\b/, 'iOS'],
  [/\bMacintosh\b/, 'macOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'Chrome OS'],
  [/\bLinux\b/, 'Linux'],
];

const nameIn = (names: typeof browsers, userAgent: string) =>
  names.find(([pattern]) => pattern.test(userAgent))?.[1];

/**
 * The browser and system of a user agent, such as `Firefox on Linux`; undefined if it is not a known browser. Shows no
 * words of the user agent. The texts of another language say how the two names stand together.
 */
export function browserName(userAgent: string, form = '{browser} on {system}'): string | undefined {
  if (!userAgent.startsWith('Mozilla/')) return undefined;
  const browser = nameIn(browsers, userAgent);
  const system = nameIn(systems, userAgent);
  return browser === undefined || system === undefined
    ? (browser ?? system)
    : fillText(form, { browser, system });
}
