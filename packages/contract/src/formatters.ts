/** Formatters cost a thousand times what they format, so up to this many are kept. */
const maxKept = 100;

/** Keeps the results of `create` by their arguments, which must be JSON. */
function keep<Arguments extends unknown[], Formatter>(
  create: (...given: Arguments) => Formatter,
): (...given: Arguments) => Formatter {
  const kept = new Map<string, Formatter>();
  return (...given) => {
    const key = JSON.stringify(given);
    const found = kept.get(key);
    if (found !== undefined) return found;
    const formatter = create(...given);
    if (kept.size === maxKept) kept.clear();
    kept.set(key, formatter);
    return formatter;
  };
}

/** @throws {RangeError} for a language tag or a time zone that this runtime cannot read */
export const dateTimeFormat = keep(
  (locale: string | undefined, options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, options),
);

export const numberFormat = keep(
  (locale: string, options: Intl.NumberFormatOptions) => new Intl.NumberFormat(locale, options),
);

export const pluralRules = keep((locale: string) => new Intl.PluralRules(locale));
