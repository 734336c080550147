import type { TextsLike } from '@latchkey/contract/texts';
import type { en } from './en.ts';

/** What every language has to say: all that English says. */
export type MailTexts = TextsLike<typeof en>;
