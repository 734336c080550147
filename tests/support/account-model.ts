// What must be true of an account after "this was not me": a list of what began, in the order in which it began.

import { emailKeyOf } from '../../packages/server/src/platform/values/email-key.ts';
import type { sameOrigin } from './account.ts';
import type { Authenticator } from './authenticator.ts';

export const day = 86_400;
const week = 7 * day;
const month = 30 * day;

type Credential =
  | { readonly token: string }
  | { readonly cookie: string; readonly headers: typeof sameOrigin };

/** Something in the list. */
interface Begun {
  readonly at: number;
}

export interface Login extends Begun {
  readonly id: string;
  readonly kind: 'browser' | 'device' | 'app' | 'key' | 'run';
  readonly name: string;
  readonly credential: Credential;
  readonly passkey?: Passkey | undefined;
  readonly approver?: Login | undefined;
  readonly place?: number;
  /** For runs: milliseconds since 1970. */
  readonly endsAt: number;
  refreshToken?: string | undefined;
  spentToken?: string;
  within?: Login | undefined;
  hasEnded: boolean;
  isUndone: boolean;
  isStolen: boolean;
}

export interface Passkey extends Begun {
  readonly id: string;
  name: string;
  readonly authenticator: Authenticator;
  isGone: boolean;
}

interface Change extends Begun {
  readonly from: string;
  readonly time: number;
}

export interface Notice extends Begun {
  readonly id: string;
  readonly token: string;
  readonly kind: string;
  readonly login: Login;
  readonly to: string;
  isSent: boolean;
  isVoid: boolean;
  undone?: Undone;
}

/** An approval that nobody has fetched, an open link to sign in, or an open link to another address. */
export interface Open {
  readonly kind: 'device' | 'app' | 'sign_in' | 'change';
  readonly name: string;
  readonly secret: string;
  readonly by?: Login;
  readonly to?: string;
  readonly endsAt: number;
}

interface Undone {
  email: string | null;
  sessions_ended: number;
  devices_ended: number;
  device_names: string[];
  passkeys_removed: string[];
  keys_removed: string[];
  runs_ended: number;
  links_voided: number;
}

const sum = (one: Undone, other: Undone): Undone => ({
  email: other.email ?? one.email,
  sessions_ended: one.sessions_ended + other.sessions_ended,
  devices_ended: one.devices_ended + other.devices_ended,
  device_names: [...one.device_names, ...other.device_names].toSorted(),
  passkeys_removed: [...one.passkeys_removed, ...other.passkeys_removed].toSorted(),
  keys_removed: [...one.keys_removed, ...other.keys_removed].toSorted(),
  runs_ended: one.runs_ended + other.runs_ended,
  links_voided: one.links_voided + other.links_voided,
});

const namesOf = (things: readonly { readonly name: string }[]): string[] =>
  things.map(({ name }) => name).toSorted();

/** What must be true of an account. */
export class Model {
  readonly logins: Login[] = [];
  readonly passkeys: Passkey[] = [];
  readonly notices: Notice[] = [];
  changes: Change[] = [];
  open: Open[] = [];
  address: string;
  readonly addresses: Set<string>;
  /** Everything else has an end before. */
  #last = 0;

  constructor(address: string) {
    this.address = address;
    this.addresses = new Set([address]);
  }

  next(): number {
    return ++this.#last;
  }

  get keptPasskeys(): Passkey[] {
    return this.passkeys.filter(({ isGone }) => !isGone);
  }

  isLive(login: Login, now: number): boolean {
    return !login.hasEnded && now < login.endsAt && (!login.within || this.isLive(login.within, now));
  }

  isKnown(place: number): boolean {
    return this.logins.some((login) => login.place === place && !login.isUndone && !login.isStolen);
  }

  /** The address that a link restores. */
  #restored({ to }: Notice, since: number, now: number): string | null {
    const after = this.changes.filter(({ at }) => at > since);
    const then = after[0]?.from ?? this.address;
    const isIt = (change: Change) => emailKeyOf(change.from) === emailKeyOf(then);
    const first = this.changes.find(({ time }) => time > now - month * 1000);
    const left = this.changes.findLast(isIt);
    return then !== this.address &&
      to !== this.address &&
      emailKeyOf(to) === emailKeyOf(then) &&
      left!.time > now - week * 1000 &&
      first &&
      isIt(first)
      ? then
      : null;
  }

  use(notice: Notice, withApprover: boolean, now: number): Undone {
    const { login } = notice;
    const approver = withApprover && !login.approver?.isUndone ? login.approver : undefined;
    if (notice.undone && !approver) return notice.undone;
    const since = (approver ?? login).at;
    const used = [login.passkey, approver?.passkey].filter((passkey) => passkey !== undefined);
    const email = this.#restored(notice, since, now);
    const live = this.logins.filter((one) => this.isLive(one, now));
    const passkeys = this.passkeys.filter((one) => !one.isGone && (one.at >= since || used.includes(one)));
    for (const one of this.logins) {
      if (one.at >= since || (one.passkey && used.includes(one.passkey))) {
        one.hasEnded = true;
        one.isUndone = true;
      }
      if (email !== null) one.hasEnded = true;
    }
    for (const passkey of passkeys) passkey.isGone = true;
    const keys = new Set([this.address, email ?? this.address].map(emailKeyOf));
    const voided = this.open.filter(
      ({ endsAt, kind, to }) => now < endsAt && (kind !== 'sign_in' || keys.has(emailKeyOf(to!))),
    );
    this.open = this.open.filter(({ kind, to }) => kind === 'sign_in' && !keys.has(emailKeyOf(to!)));
    if (email !== null) {
      this.address = email;
      this.changes = this.changes.filter(({ at }) => at <= since);
    }
    const ended = live.filter((one) => !this.isLive(one, now));
    const count = (...kinds: string[]) => ended.filter(({ kind }) => kinds.includes(kind));
    const approvals = voided.filter(({ kind }) => kind === 'device' || kind === 'app');
    const devices = [...count('device', 'app'), ...approvals];
    const here: Undone = {
      email,
      sessions_ended: count('browser').length,
      devices_ended: devices.length,
      device_names: namesOf(devices),
      passkeys_removed: namesOf(passkeys),
      keys_removed: namesOf(count('key')),
      runs_ended: count('run').length,
      links_voided: voided.length - approvals.length,
    };
    const undone = notice.undone ? sum(notice.undone, here) : here;
    for (const other of this.notices) {
      if (other === notice || (!other.undone && other.login.isUndone)) other.undone = undone;
      if (other !== notice && other.at > since && !other.isSent) other.isVoid = true;
      if (email !== null && emailKeyOf(other.to) !== emailKeyOf(email)) other.isVoid = true;
    }
    return undone;
  }
}
