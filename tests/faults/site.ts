// What faults happen to: a service on one store, its nodes, and the mail server.

import type { TestSmtp } from '../support/smtp.ts';

export interface FaultNode {
  readonly name: string;
  /** Where clients reach it, through a proxy. */
  readonly url: string;
  /** Counts the starts of what keeps its budgets, if that is its memory. */
  budgetEpoch(): number;
}

export interface Fault {
  readonly name: string;
  /** Whether the service may be unable to note that it has sent an email. */
  readonly mayRepeatMails: boolean;
  /** Whether it can happen now. */
  isPossible(): boolean;
  start(): Promise<void>;
  end(): Promise<void>;
}

export interface Site {
  readonly nodes: readonly FaultNode[];
  /** The address of its pages, which passkeys are bound to. */
  readonly origin: string;
  readonly smtp: TestSmtp;
  readonly faults: readonly Fault[];
  /** Faults that cannot be made on this machine, each with the reason. */
  readonly skipped: readonly string[];
  /** Resolves when every node answers again. */
  recovered(anyAddress: () => string): Promise<void>;
  /** The settings of a command of the operator. */
  settings(): Readonly<Record<string, string>>;
  stop(): Promise<void>;
}
