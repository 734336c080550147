import type { Context } from '../context.ts';
import type { Tables } from '../database/schema.ts';

export interface Message {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Renders a mail when it is sent. Undefined when its subject no longer exists, so that the mail is not sent. */
export type Template = (ctx: Context, mail: Tables['outbox']) => Promise<Message | undefined>;

export type Templates = Readonly<Record<string, Template>>;
