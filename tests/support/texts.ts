// Compares the texts of a language with the English ones.

type Texts = Readonly<Record<string, unknown>>;

const isTexts = (value: unknown): value is Texts => typeof value === 'object' && value !== null;
const isPlural = (value: unknown): value is Texts => isTexts(value) && typeof value['other'] === 'string';

/** Where a line must not break, though a plain hyphen or space would let it. */
const breakable: Readonly<Record<string, RegExp>> = {
  de: /E-Mail/,
  fr: /e-mail| [:;?!»]|« /i,
  'pt-BR': /e-mail/i,
  ja: /(?:\d|\{(?:count|limit|duration)\}) \p{Script=Han}/u,
};

/** The names in braces, sorted. */
const placesIn = (text: string): string[] =>
  [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name).sort();

const textProblem = (language: string, text: unknown, english: unknown): string[] => {
  if (typeof text !== 'string' || typeof english !== 'string') return ['missing'];
  if (text.trim() === '') return ['empty'];
  if (breakable[language]?.test(text) === true) return ['a line could break inside a word or before a mark'];
  return placesIn(text).join() === placesIn(english).join() ? [] : ['other placeholders than in English'];
};

function pluralProblems(language: string, forms: Texts, english: Texts): string[] {
  const { pluralCategories } = new Intl.PluralRules(language).resolvedOptions();
  if (Object.keys(forms).sort().join() !== [...pluralCategories].sort().join())
    return [`: plural forms are not ${[...pluralCategories].sort().join(', ')}`];
  return Object.entries(forms).flatMap(([form, text]) =>
    textProblem(language, text, english['other']).map((problem) => `.${form}: ${problem}`),
  );
}

/** What a language lacks, has too much or fills in differently, by the key of the text. */
export function textProblems(language: string, texts: Texts, english: Texts, under = ''): string[] {
  const more = Object.keys(texts).filter((key) => !(key in english));
  return [
    ...Object.entries(english).flatMap(([key, reference]) => {
      const text = texts[key];
      const path = under + key;
      if (isPlural(reference))
        return isTexts(text)
          ? pluralProblems(language, text, reference).map((problem) => path + problem)
          : [`${path}: missing`];
      if (isTexts(reference))
        return isTexts(text) ? textProblems(language, text, reference, `${path}.`) : [`${path}: missing`];
      return textProblem(language, text, reference).map((problem) => `${path}: ${problem}`);
    }),
    ...more.map((key) => `${under}${key}: not in English`),
  ];
}
