import type { TextsLike } from '@latchkey/contract/texts';
import type { accountEn } from './account-en.ts';
import type { en } from './en.ts';

/** What a language says on all pages but the account page: all that English says. */
export type Texts = TextsLike<typeof en>;

/** What a language says on the account page. */
export type AccountTexts = TextsLike<typeof accountEn>;

/** What scripts of pages say. The service loads only the groups that a page declares in build.ts. */
export type PageTexts = Omit<Texts, 'frame'> & { readonly account: AccountTexts };
