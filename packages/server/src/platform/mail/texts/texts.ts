import type { Language } from '@latchkey/contract/languages';
import { de } from './de.ts';
import { en } from './en.ts';
import { es } from './es.ts';
import { fr } from './fr.ts';
import { ja } from './ja.ts';
import { ptBr } from './pt-br.ts';
import type { MailTexts } from './type.ts';

export const mailTexts: Readonly<Record<Language, MailTexts>> = { en, de, fr, es, 'pt-BR': ptBr, ja };
