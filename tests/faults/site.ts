// What faults happen to: a service on one store, its nodes, and the mail server; and the faults that happen on every store.

import type { Disturbance, FaultProxy } from '#support/fault-proxy.ts';
import type { MailTrouble, TestSmtp } from '#support/smtp.ts';
import type { FaultNode } from './node.ts';

export interface Fault {
  readonly name: string;
  /** Whether the service may be unable to note that it has sent an email. */
  readonly mayRepeatMails?: boolean;
  /** Whether it can happen now. Default: always. */
  readonly isPossible?: () => boolean;
  readonly start: () => unknown;
  readonly end: () => unknown;
}

export interface Site {
  readonly nodes: readonly FaultNode[];
  readonly smtp: TestSmtp;
  readonly faults: readonly Fault[];
  /** The settings of a command of the operator. */
  settings(): Readonly<Record<string, string>>;
  /** Ends the database, once the nodes have stopped. */
  close(): Promise<void>;
}

/** The address of the pages, which passkeys are bound to. */
export const origin = 'http://localhost:8787';

/** No client reaches these. */
const generousLimits = [
  'mails_by_recipient',
  'mails_by_client',
  'account_changes',
  'user_codes_by_client',
  'refreshes',
];

/** Every client says in `X-Forwarded-For` from where it comes. Nobody signs in so often that a sign-in would be old. */
export const settingsWith = (smtp: TestSmtp): Readonly<Record<string, string>> => ({
  LATCHKEY_BASE_URL: origin,
  LATCHKEY_SMTP_URL: smtp.url,
  LATCHKEY_TRUSTED_PROXIES: '127.0.0.1',
  LATCHKEY_RECENT_LOGIN_TTL: '86400',
  LATCHKEY_RATE_LIMITS: generousLimits.map((name) => `${name}=100000/60`).join(', '),
});

/** A fault of what `pick` chooses when it starts. */
export function faultOf<Subject>(
  pick: () => Subject,
  name: string,
  start: (subject: Subject) => unknown,
  end: (subject: Subject) => unknown,
  mayRepeatMails = false,
): Fault {
  let chosen: Subject;
  return {
    name,
    mayRepeatMails,
    start: () => {
      chosen = pick();
      return start(chosen);
    },
    end: () => end(chosen),
  };
}

const disturbances: readonly Disturbance[] = ['cut', 'hang', 'slow', 'reorder', 'half close'];

/** What happens to the connections through a proxy. */
export const connectionFaults = (
  where: string,
  pick: () => Pick<FaultProxy, 'disturb'>,
  mayRepeatMails = false,
): Fault[] =>
  disturbances.map((how) =>
    faultOf(
      pick,
      `${where}: ${how}`,
      (proxy) => proxy.disturb(how),
      (proxy) => proxy.disturb(undefined),
      mayRepeatMails,
    ),
  );

const stopped = (node: FaultNode) => node.stop();
const started = (node: FaultNode) => node.start();
const killed = (node: FaultNode) => node.kill();

/** `pick` chooses the node that it happens to. */
export const nodeFaults = (pick: () => FaultNode): Fault[] => [
  faultOf(pick, 'kill -9 of a node', killed, started, true),
  faultOf(pick, 'SIGTERM to a node under load', stopped, started),
  faultOf(
    pick,
    'descriptors used up',
    (node) => node.limitDescriptors(true),
    (node) => node.limitDescriptors(false),
    true,
  ),
  ...connectionFaults('in front of a node', () => pick().front),
];

const troubles: readonly MailTrouble[] = ['slow', 'refusing', 'dropping'];

export const mailFaults = (smtp: TestSmtp): Fault[] =>
  troubles.map((how) => ({
    name: `mail server: ${how}`,
    mayRepeatMails: how === 'dropping',
    start: () => smtp.trouble(how),
    end: () => smtp.trouble(undefined),
  }));
