import type { Language } from '@latchkey/contract/languages';
import type { TextsLike } from '@latchkey/contract/texts';
import de from './de.json' with { type: 'json' };
import en from './en.json' with { type: 'json' };
import es from './es.json' with { type: 'json' };
import fr from './fr.json' with { type: 'json' };
import ja from './ja.json' with { type: 'json' };
import ptBr from './pt-BR.json' with { type: 'json' };

/** What a language says on the pages: all that English says. */
type Texts = TextsLike<typeof en>;

/** What scripts of pages say; `frame` is written into the HTML. A page loads only the groups that build.ts declares for it. */
export type PageTexts = Omit<Texts, 'frame'>;

/** What all pages say in every language, for the build and for tests. */
export const allTexts: Readonly<Record<Language, Texts>> = { en, de, fr, es, 'pt-BR': ptBr, ja };
