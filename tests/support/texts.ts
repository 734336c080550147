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

/** The texts by their keys. One that counts is the object of its plural forms. */
const byKey = (texts: Texts, under = ''): [key: string, text: unknown][] =>
  Object.entries(texts).flatMap(([key, text]) =>
    isTexts(text) && !isPlural(text) ? byKey(text, `${under}${key}.`) : [[under + key, text]],
  );

/** What a language lacks, has too much or fills in differently, by the key of the text. */
export function textProblems(language: string, texts: Texts, english: Texts): string[] {
  const [own, reference] = [new Map(byKey(texts)), new Map(byKey(english))];
  const forms = new Intl.PluralRules(language).resolvedOptions().pluralCategories.toSorted().join(', ');
  const problems = [...reference].flatMap(([key, wanted]) => {
    const text = own.get(key);
    if (!isPlural(wanted) || !isTexts(text))
      return textProblem(language, text, wanted).map((problem) => `${key}: ${problem}`);
    if (Object.keys(text).toSorted().join(', ') !== forms) return [`${key}: plural forms are not ${forms}`];
    return Object.entries(text).flatMap(([form, one]) =>
      textProblem(language, one, wanted['other']).map((problem) => `${key}.${form}: ${problem}`),
    );
  });
  const more = [...own.keys()].filter((key) => !reference.has(key));
  return [...problems, ...more.map((key) => `${key}: not in English`)];
}
