import type { Language } from '@latchkey/contract/languages';
import type { TextsLike } from '@latchkey/contract/texts';
import de from './de.json' with { type: 'json' };
import en from './en.json' with { type: 'json' };
import es from './es.json' with { type: 'json' };
import fr from './fr.json' with { type: 'json' };
import ja from './ja.json' with { type: 'json' };
import ptBr from './pt-BR.json' with { type: 'json' };

/** What a language says in emails: all that English says. */
export type MailTexts = TextsLike<typeof en>;

export const mailTexts: Readonly<Record<Language, MailTexts>> = { en, de, fr, es, 'pt-BR': ptBr, ja };
