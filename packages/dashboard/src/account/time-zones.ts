/** The current names that many browsers list under a former one, such as Asia/Calcutta, and UTC, which they leave out. */
const currentNames = `
  Africa/Asmara America/Argentina/Buenos_Aires America/Argentina/Catamarca America/Argentina/Cordoba
  America/Argentina/Jujuy America/Argentina/Mendoza America/Atikokan America/Indiana/Indianapolis
  America/Kentucky/Louisville America/Nuuk Asia/Ho_Chi_Minh Asia/Kathmandu Asia/Kolkata Asia/Yangon
  Atlantic/Faroe Europe/Kyiv Pacific/Chuuk Pacific/Kanton Pacific/Pohnpei UTC
`
  .trim()
  .split(/\s+/);

/** What this browser calls a time zone, or its own; undefined if it knows none of this name, former ones included. */
function nameHere(timeZone?: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

const current = new Map(currentNames.map((name) => [nameHere(name), name]));
const currentNameOf = (zone: string | undefined) => current.get(zone) ?? zone;

/** The time zones to offer, under their current names, that of this browser first. */
export const offeredTimeZones: readonly string[] = [
  ...new Set([nameHere(), ...currentNames, ...Intl.supportedValuesOf('timeZone')].map(currentNameOf)),
].filter((zone) => zone !== undefined);

/** As people write it: with spaces. */
export const timeZoneText = (timeZone: string): string => timeZone.replaceAll('_', ' ');

/** The time zone that was typed: one of its names, in any case, or the only one with that text in its name. */
export function typedTimeZone(typed: string): string | undefined {
  const named = /^[a-z]/i.test(typed) ? nameHere(typed.replaceAll(' ', '_')) : undefined;
  if (named !== undefined) return currentNameOf(named);
  const text = timeZoneText(typed).toLowerCase();
  const [only, ...others] = offeredTimeZones.filter((zone) =>
    timeZoneText(zone).toLowerCase().includes(text),
  );
  return others.length === 0 ? only : undefined;
}
