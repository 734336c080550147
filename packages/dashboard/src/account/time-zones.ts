/** The current names that many browsers list under a former one, such as Asia/Calcutta, and UTC, which they leave out. */
const currentNames = [
  ...['Africa/Asmara', 'America/Argentina/Buenos_Aires', 'America/Argentina/Catamarca'],
  ...[
    'America/Argentina/Cordoba',
    'America/Argentina/Jujuy',
    'America/Argentina/Mendoza',
    'America/Atikokan',
  ],
  ...['America/Indiana/Indianapolis', 'America/Kentucky/Louisville', 'America/Nuuk', 'Asia/Ho_Chi_Minh'],
  ...['Asia/Kathmandu', 'Asia/Kolkata', 'Asia/Yangon', 'Atlantic/Faroe', 'Europe/Kyiv', 'Pacific/Chuuk'],
  ...['Pacific/Kanton', 'Pacific/Pohnpei', 'UTC'],
];

/** What this browser calls a time zone. */
const nameHere = (timeZone?: string): string =>
  new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone;

function list(): readonly string[] {
  const current = new Map(currentNames.map((name) => [nameHere(name), name]));
  const currentNameOf = (zone: string) => current.get(zone) ?? zone;
  const all = [...currentNames, ...Intl.supportedValuesOf('timeZone').map(currentNameOf)].sort();
  return [...new Set([currentNameOf(nameHere()), ...all])];
}

let offered: readonly string[] | undefined;

/** The time zones to offer, under their current names, that of this browser first. */
export function offeredTimeZones(): readonly string[] {
  offered ??= list();
  return offered;
}

/** As people write it: with spaces. */
export const timeZoneText = (timeZone: string): string => timeZone.replaceAll('_', ' ');

/** The time zone that was typed: its name in any case, or the only one with that text in its name. */
export function typedTimeZone(typed: string): string | undefined {
  const text = timeZoneText(typed).toLowerCase();
  const found = offeredTimeZones().filter((zone) => timeZoneText(zone).toLowerCase().includes(text));
  const exact = found.find((zone) => zone.length === text.length);
  const [only, ...others] = found;
  return exact ?? (others.length === 0 ? only : undefined);
}
