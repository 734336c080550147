import type { Context } from '../context.ts';
import type { Tables } from '../database/schema.ts';

/** A mail as it is written: the same words as text and as HTML. */
export interface Message {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Fills a mail in at the moment of sending; undefined when what it told of is gone. */
export type Template = (ctx: Context, mail: Tables['outbox']) => Promise<Message | undefined>;

export type Templates = Readonly<Record<string, Template>>;
