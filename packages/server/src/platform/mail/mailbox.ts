import { createHash } from 'node:crypto';
import type { Context } from '../context.ts';
import { pathNotFound } from '../errors.ts';
import { isForThisMachine } from '../http/monitoring.ts';
import { logoPath } from '../http/pages.ts';
import type { Routes } from '../http/server.ts';
import { escapeHtml } from '../values/html.ts';
import { logoContentId } from './layout.ts';
import type { Message, Templates } from './message.ts';
import * as store from './outbox-store.ts';
import { palette } from './palette.ts';

const maxMessages = 100;
const pagePath = '/dev/mailbox';

interface MailboxMessage extends Message {
  readonly to: string;
  readonly sent_at: string;
}

type StoredMessage = MailboxMessage & { readonly id: string };

/** They are rendered on each call, so no link or code is stored. */
async function renderSent(ctx: Context, templates: Templates): Promise<StoredMessage[]> {
  const mails = await store.listSent(ctx.db.read, { limit: maxMessages });
  const stored = await Promise.all(
    mails.map(async (mail) => {
      const message = await templates[mail.template]?.(ctx, mail);
      const sent_at = new Date(mail.sent_at!).toISOString();
      return message && { id: mail.id, to: mail.recipient, ...message, sent_at };
    }),
  );
  return stored.filter((one) => one !== undefined);
}

/** The mails that would have been sent, newest first. */
export const readMailbox = async (ctx: Context, templates: Templates): Promise<MailboxMessage[]> =>
  (await renderSent(ctx, templates)).map(({ id: _, ...message }) => message);

async function readHtml(ctx: Context, templates: Templates, id: string): Promise<string | undefined> {
  const [mail] = await store.findSent(ctx.db.read, { id });
  const message = mail && (await templates[mail.template]?.(ctx, mail));
  // A mail carries its logo. Links open beside the mailbox, as they do in mail programs.
  return message?.html
    .replaceAll(`cid:${logoContentId}`, logoPath)
    .replace('<head>', '<head><base target="_blank">');
}

const withLinks = (text: string): string =>
  escapeHtml(text).replace(/https?:\/\/\S+/g, (url) => `<a href="${url}" rel="noreferrer">${url}</a>`);

const { light, dark } = palette;
const style = `
:root { color-scheme: light dark; --background: ${light.background}; --surface: ${light.surface}; --line: ${light.line};
  --text: ${light.text}; --muted: ${light.muted}; --link: ${light.link}; }
@media (prefers-color-scheme: dark) {
  :root { --background: ${dark.background}; --surface: ${dark.surface}; --line: ${dark.line}; --text: ${dark.text};
    --muted: ${dark.muted}; --link: ${dark.link}; }
}
* { box-sizing: border-box; }
body { margin: 0; padding: 1.5rem 1rem; background: var(--background); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 72rem; margin: 0 auto; }
h1 { margin: 0; font-size: 1.5rem; }
h2 { margin: 0; font-size: 1.125rem; }
h3 { margin: 0 0 0.5rem; color: var(--muted); font-size: 0.875rem; }
p, pre { overflow-wrap: anywhere; }
p { margin: 0.25rem 0 0; color: var(--muted); font-size: 0.875rem; }
a { color: var(--link); }
article { margin: 1.5rem 0; padding: 1.5rem; background: var(--surface); border: 1px solid var(--line); border-radius: 1rem; }
.forms { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1.5rem; margin-top: 1.25rem; }
iframe { width: 100%; height: 36rem; border: 1px solid var(--line); border-radius: 0.5rem; }
pre { margin: 0; font: 0.875rem/1.5 ui-monospace, monospace; white-space: pre-wrap; }
@media (max-width: 52rem) { .forms { grid-template-columns: minmax(0, 1fr); } }
`;
/** Shows what was sent since, without a reload by hand. */
const script = `setInterval(async () => {
  const { messages } = await (await fetch('${pagePath}.json')).json();
  if ((messages[0]?.sent_at ?? '') !== document.body.dataset.newest) location.reload();
}, 2000);`;
const hashOf = (text: string) => createHash('sha256').update(text).digest('base64');

const article = ({ id, ...message }: StoredMessage): string => `<article>
<h2>${escapeHtml(message.subject)}</h2>
<p>To ${escapeHtml(message.to)}, ${escapeHtml(message.sent_at)}</p>
<div class="forms">
<section>
<h3>HTML</h3>
<iframe src="${pagePath}/${encodeURIComponent(id)}" title="${escapeHtml(message.subject)}" loading="lazy"></iframe>
</section>
<section>
<h3>Plain text</h3>
<pre>${withLinks(message.text)}</pre>
</section>
</div>
</article>`;

const page = (messages: readonly StoredMessage[]): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Development mailbox</title>
<link rel="icon" href="data:,">
<style>${style}</style>
<script type="module">${script}</script>
</head>
<body data-newest="${messages[0]?.sent_at ?? ''}">
<main>
<h1>Development mailbox</h1>
<p>Emails that would have been sent, newest first. This page exists only while the service listens
on a loopback address, the host of its base URL is a loopback address, and LATCHKEY_SMTP_URL is not set.</p>
${messages.length === 0 ? '<p>No emails yet.</p>' : messages.map(article).join('\n')}
</main>
</body>
</html>`;

const contentSecurityPolicy = `default-src 'none'; style-src 'sha256-${hashOf(style)}'; script-src 'sha256-${hashOf(script)}'; connect-src 'self'; frame-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'`;

/** A mail runs nothing and loads only its logo, as in a mail program. Its links open outside the sandbox. */
const mailContentSecurityPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'none'; frame-ancestors 'self'; sandbox allow-popups allow-popups-to-escape-sandbox";

const htmlResponse = (html: string, policy: string): Response =>
  new Response(html, {
    headers: {
      'Content-Type': 'text/html; charset=UTF-8',
      'Content-Security-Policy': policy,
      'Referrer-Policy': 'no-referrer',
    },
  });

/** @throws {AuthError} `not_found` unless the request comes from this machine */
function requireLocal(request: Request): void {
  if (!isForThisMachine(request)) throw pathNotFound();
}

export function mailboxRoutes(routes: Routes, ctx: Context, templates: Templates): void {
  routes.get(pagePath, async ({ request }) => {
    requireLocal(request);
    return htmlResponse(page(await renderSent(ctx, templates)), contentSecurityPolicy);
  });
  routes.get(`${pagePath}/:id`, async ({ request, params }) => {
    requireLocal(request);
    const html = await readHtml(ctx, templates, params['id']!);
    if (html === undefined) throw pathNotFound();
    return htmlResponse(html, mailContentSecurityPolicy);
  });
  routes.get(`${pagePath}.json`, async (exchange) => {
    requireLocal(exchange.request);
    return exchange.json({ messages: await readMailbox(ctx, templates) });
  });
}
