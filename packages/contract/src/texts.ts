import { numberFormat, pluralRules } from './formatters.ts';

/** A text for a number of things, in each plural form of its language. */
export type Plural = { readonly other: string } & Partial<Record<Intl.LDMLPluralRule, string>>;

/** The type of the same texts in another language. */
export type TextsLike<Reference> = Reference extends string
  ? string
  : Reference extends Plural
    ? Plural
    : { readonly [Key in keyof Reference]: TextsLike<Reference[Key]> };

/** Fills in what is in braces, in one pass: so a value that looks like a place stays text. */
export const fillText = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\{(\w+)\}/g, (place, name: string) => values[name] ?? place);

/** The form of a text for a number, with the number in it as `{count}`. */
export function pluralText(language: string, forms: Plural, count: number): string {
  const form = forms[pluralRules(language).select(count)] ?? forms.other;
  return fillText(form, { count: numberFormat(language, {}).format(count) });
}
