// An SMTP server that hands over the links of sign-in emails, and keeps nothing else.

import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { plainText } from '../support/smtp.ts';

export interface Inbox {
  /** For LATCHKEY_SMTP_URL. */
  readonly url: string;
  /** The token of the next sign-in link to an address. Ask before the email is requested. */
  nextLink(address: string): Promise<string>;
  close(): Promise<void>;
}

const deadlineMs = 30_000;

const linkTokenIn = (raw: string): string | undefined => /#token=(lk_ml_[\w-]+)/.exec(plainText(raw))?.[1];

/** Starts the server on a free port of 127.0.0.1. */
export async function openInbox(): Promise<Inbox> {
  const waiting = new Map<string, (token: string) => void>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: 100,
    async onData(stream, { envelope }, done) {
      const token = linkTokenIn(await new Response(stream as unknown as BodyInit).text());
      for (const { address } of envelope.rcptTo) if (token !== undefined) waiting.get(address)?.(token);
      done();
    },
  });
  // A client that disconnects in mid-conversation is not a server failure.
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;

  return {
    url: `smtp://127.0.0.1:${port}`,
    nextLink: (address) => {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const timer = setTimeout(() => reject(new Error(`no mail within ${deadlineMs} ms`)), deadlineMs);
      waiting.set(address, resolve);
      return promise.finally(() => {
        clearTimeout(timer);
        waiting.delete(address);
      });
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
