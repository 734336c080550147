import type { Language } from '@latchkey/contract/languages';
import { accountDe } from './account-de.ts';
import { accountEn } from './account-en.ts';
import { accountEs } from './account-es.ts';
import { accountFr } from './account-fr.ts';
import { accountJa } from './account-ja.ts';
import { accountPtBr } from './account-pt-br.ts';
import { de } from './de.ts';
import { en } from './en.ts';
import { es } from './es.ts';
import { fr } from './fr.ts';
import { ja } from './ja.ts';
import { ptBr } from './pt-br.ts';
import type { AccountTexts, Texts } from './type.ts';

/** What all pages say in every language, for the build and for tests. A page loads only what it says. */
export const allTexts: Readonly<Record<Language, Texts & { readonly account: AccountTexts }>> = {
  en: { ...en, account: accountEn },
  de: { ...de, account: accountDe },
  fr: { ...fr, account: accountFr },
  es: { ...es, account: accountEs },
  'pt-BR': { ...ptBr, account: accountPtBr },
  ja: { ...ja, account: accountJa },
};
