import type { Plural } from '@latchkey/contract/texts';
import type { en } from './en.ts';

type Like<Text> = Text extends string
  ? string
  : Text extends Plural
    ? Plural
    : { readonly [Key in keyof Text]: Like<Text[Key]> };

/** What every language has to say: all that English says. */
export type MailTexts = Like<typeof en>;
