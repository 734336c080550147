import { createHash } from 'node:crypto';
import type { Context } from '../context.ts';
import { pathNotFound } from '../errors.ts';
import { isForThisMachine } from '../http/local-request.ts';
import type { Routes } from '../http/routing.ts';
import { escapeHtml } from '../values/html.ts';
import type { Templates } from './message.ts';
import * as store from './outbox-store.ts';

const maxMessages = 100;

interface MailboxMessage {
  to: string;
  subject: string;
  text: string;
  html: string;
  sent_at: string;
}

/** The mails that would have been sent, newest first. They are rendered on each call, so no link or code is stored. */
export async function readMailbox(ctx: Context, templates: Templates): Promise<MailboxMessage[]> {
  const mails = await store.listSent(ctx.db.read, { limit: maxMessages });
  const messages = await Promise.all(
    mails.map(async (mail) => {
      const message = await templates[mail.template]?.(ctx, mail);
      return message && { to: mail.recipient, ...message, sent_at: new Date(mail.sent_at!).toISOString() };
    }),
  );
  return messages.filter((message) => message !== undefined);
}

/** HTML of a plain text with clickable links. */
const withLinks = (text: string): string =>
  escapeHtml(text).replace(/https?:\/\/\S+/g, (url) => `<a href="${url}" rel="noreferrer">${url}</a>`);

const style = `
:root { color-scheme: light dark; }
body { background: Canvas; color: CanvasText; }
main { max-width: 44rem; margin: 0 auto; font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; }
h2 { margin: 0; font-size: 1.125rem; }
p, pre { overflow-wrap: anywhere; }
article { margin: 1rem 0; padding: 1rem; border: 1px solid GrayText; border-radius: 0.5rem; }
pre { margin: 0; font: inherit; white-space: pre-wrap; }
`;
const styleHash = createHash('sha256').update(style).digest('base64');

const page = (messages: readonly MailboxMessage[]): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Development mailbox</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
<h1>Development mailbox</h1>
<p>Mails that would have been sent, newest first. Reload to see new ones. This page exists only while the service listens
on a loopback address, the host of its base URL is a loopback address, and LATCHKEY_SMTP_URL is not set.</p>
${messages
  .map(
    (message) => `<article>
<h2>${escapeHtml(message.subject)}</h2>
<p>To ${escapeHtml(message.to)}, ${escapeHtml(message.sent_at)}</p>
<pre>${withLinks(message.text)}</pre>
</article>`,
  )
  .join('\n')}
</main>
</body>
</html>`;

const contentSecurityPolicy = `default-src 'none'; style-src 'sha256-${styleHash}'; img-src data:; frame-ancestors 'none'; base-uri 'none'`;

/** @throws {AuthError} `not_found` unless the request comes from this machine */
function requireLocal(request: Request): void {
  if (!isForThisMachine(request)) throw pathNotFound();
}

/** Adds the development mailbox, as a web page and as JSON. */
export function mailboxRoutes(routes: Routes, ctx: Context, templates: Templates): void {
  routes.get('/dev/mailbox', async ({ request }) => {
    requireLocal(request);
    return new Response(page(await readMailbox(ctx, templates)), {
      headers: {
        'Content-Type': 'text/html; charset=UTF-8',
        'Content-Security-Policy': contentSecurityPolicy,
        'Referrer-Policy': 'no-referrer',
      },
    });
  });
  routes.get('/dev/mailbox.json', async (exchange) => {
    requireLocal(exchange.request);
    return exchange.json({ messages: await readMailbox(ctx, templates) });
  });
}
