// One account: what has begun in it, in its order, and when each of it ends. It says how the service must answer, and what "this was
// not me" undoes. Times are in seconds since 1970.

import { emailKeyOf } from '../../packages/server/src/platform/values/email-key.ts';
import type { Authenticator } from './authenticator.ts';
import type { DeviceCodes } from './devices.ts';
import { ticketsDeclared } from './services.ts';

export const day = 86_400;
const [week, month] = [7 * day, 30 * day];
export const refreshRetry = 600;
const [leeway, redeemRetry, recentSignIn] = [10, 60, 900];
const [idleTtl, sessionTtl, runIdleTtl, runTtl] = [30 * day, 180 * day, 3600, day];
export const [tickets, builds] = [ticketsDeclared.resource, 'https://builds.example/api'];

/** What a request asks for. */
export interface Access {
  readonly scope?: string;
  readonly resource?: string;
}
/** What a session may do. */
export interface Granted {
  readonly scopes: readonly string[];
  readonly resource: string | null;
}
/** What a request is repeated with. */
export interface Repetition {
  readonly key: string | undefined;
  readonly repeated: Access;
  readonly way: string;
}
/** Something that begins before or after another. */
interface Begun {
  readonly began: number;
}
export interface Token {
  /** Empty for a cookie, a key, an application, and for a run that no service acts in. */
  refresh: string;
  /** Empty for a cookie. */
  access: string;
  readonly cookie?: string;
  accessEnds: number;
}
export interface Session extends Granted, Begun {
  readonly id: string;
  readonly kind: 'browser' | 'device' | 'app' | 'key' | 'run';
  readonly name: string;
  /** What a run is directly within. */
  within?: Session | undefined;
  readonly approver?: Session | undefined;
  readonly passkey?: Passkey | undefined;
  /** Where a browser is. */
  readonly place?: number;
  readonly createdAt: number;
  readonly endsAt: number;
  idleEnds: number;
  ended: boolean;
  stolen: boolean;
  disowned: boolean;
  /** One per generation; only the last is unspent. */
  readonly tokens: Token[];
  rotatedAt: number;
  key: string | undefined;
}
/** Who sends a request. */
export type By = readonly [session: Session, token: Token];

export interface Device extends DeviceCodes {
  readonly name: string;
  readonly asked: Access;
  readonly expires: number;
  state: 'pending' | 'approved' | 'denied' | 'redeemed' | 'cancelled';
  approver: Session | undefined;
  /** All sessions were revoked after the approval. */
  ended: boolean;
  interval: number;
  lastPoll: number;
  redeemedAt: number;
  key: string | undefined;
  session: Session | undefined;
}
/** The code of an application, or a link that signs in or changes the address. */
interface Open {
  readonly expires: number;
  spent: boolean;
}
export interface OpenLink extends Open {
  readonly token: string;
  readonly request: string;
  readonly code: string;
  readonly to: string;
  attempts: number;
}
export interface Code extends Open {
  readonly name: string;
  readonly secret: string;
  readonly approver: Session;
}
export interface AddressChange extends Open {
  readonly token: string;
}
export interface Passkey extends Begun {
  readonly id: string;
  readonly name: string;
  readonly authenticator: Authenticator;
  isGone: boolean;
}
export interface Notice extends Begun {
  readonly token: string;
  readonly id: string;
  readonly kind: string;
  readonly session: Session;
  readonly to: string;
  readonly expires: number;
  isSent: boolean;
  isVoid: boolean;
  undone?: Undone;
}
/** What the uses of a notice have undone. */
interface Undone {
  readonly email: string | null;
  readonly sessions: readonly Session[];
  readonly approvals: readonly (Device | Code)[];
  readonly passkeys: readonly Passkey[];
  readonly links: number;
}

export const names = ['profile', 'email', 'organizations', 'openid', 'tickets:read'];
export const everything = ['*'];
export const tooMany = Array.from({ length: 21 }, () => 'email').join(' ');

export const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.toSorted().join(' ') === other.toSorted().join(' ');

const isMailbox = (one: string, other: string): boolean => emailKeyOf(one) === emailKeyOf(other);

const namesOf = (things: readonly { readonly name: string }[]): string[] =>
  things.map(({ name }) => name).toSorted();

export const holdsEverything = ({ scopes, resource }: Granted): boolean =>
  resource === null && isSame(scopes, everything);

/** The names in a scope that the service must accept; undefined if it must refuse it. */
export function accepted(scope: string): readonly string[] | undefined {
  const found = scope.split(' ');
  if (scope === tooMany || !found.every((name) => name === '*' || names.includes(name))) return undefined;
  return found.includes('*') ? everything : found;
}

export const grantedBy = ({ scope, resource }: Access): Granted => ({
  scopes: (scope === undefined ? undefined : accepted(scope)) ?? everything,
  resource: resource ?? null,
});

/** The code that must refuse a new login or key with this access; undefined if it is good. */
export function refusalOf({ scope, resource }: Access): string | undefined {
  if (scope !== undefined && !accepted(scope)) return 'invalid_scope';
  return resource === undefined || [tickets, builds].includes(resource) ? undefined : 'invalid_target';
}

/** The code that must refuse a run with this access; undefined if it is within that of its parent. */
export function excessOf({ scope, resource }: Access, parent: Granted): string | undefined {
  const asked = scope?.split(' ') ?? parent.scopes;
  // Everything does not include openid.
  const isWithin = isSame(parent.scopes, everything)
    ? !asked.some((name) => ['*', 'openid'].includes(name))
    : asked.every((name) => parent.scopes.includes(name));
  if (!isWithin) return 'invalid_scope';
  if (resource !== undefined && ![null, resource].includes(parent.resource)) return 'invalid_target';
  return refusalOf({ scope: asked.join(' '), ...(resource !== undefined && { resource }) });
}

/** The code that must refuse to repeat this access for an existing login; undefined if it is its own. */
function changeOf({ scope, resource }: Access, own: Granted): string | undefined {
  if (scope !== undefined && !isSame(accepted(scope) ?? [], own.scopes)) return 'invalid_scope';
  return resource === undefined || resource === own.resource ? undefined : 'invalid_target';
}

const noticeKindOf = {
  ...{ browser: 'new_browser', device: 'new_device', app: 'new_app', key: 'key_added', run: '' },
};

export class Account {
  readonly sessions: Session[] = [];
  devices: Device[] = [];
  readonly links: OpenLink[] = [];
  readonly codes: Code[] = [];
  readonly addressChanges: AddressChange[] = [];
  readonly passkeys: Passkey[] = [];
  readonly notices: Notice[] = [];
  /** The kinds of the notices that the service must have written and that were not read yet. */
  readonly unread: string[] = [];
  disabled = false;
  address: string;
  readonly addresses: Set<string>;
  /** The changes of address that were not undone. */
  #left: (Begun & { readonly address: string; readonly at: number })[] = [];
  #last = 0;
  readonly #clock: { readonly now: number };

  constructor(clock: { readonly now: number }, address: string) {
    this.#clock = clock;
    this.address = address;
    this.addresses = new Set([address]);
  }

  get now() {
    return this.#clock.now / 1000;
  }

  /** Everything else has begun before. */
  next(): number {
    return ++this.#last;
  }

  add(
    of: Pick<Session, 'id' | 'kind' | keyof Granted> & Partial<Session>,
    token: Token,
    { within, place }: Pick<Session, 'within' | 'place'> = of,
  ): Session {
    const { now } = this;
    const { kind } = of;
    const endsAt = kind !== 'run' ? now + sessionTtl : Math.min(within!.endsAt, now + runTtl);
    const isFixed = kind === 'key' || (kind === 'run' && token.refresh === '');
    const ends = isFixed
      ? { idleEnds: token.accessEnds, endsAt: token.accessEnds }
      : { idleEnds: Math.min(now + (kind === 'run' ? runIdleTtl : idleTtl), endsAt), endsAt };
    const isNews = kind === 'device' || kind === 'key' || (kind !== 'run' && !this.#isKnown(kind, place));
    if (isNews && this.sessions.length > 0) this.unread.push(noticeKindOf[kind]);
    const fresh = { ended: false, stolen: false, disowned: false, createdAt: now, rotatedAt: now };
    const session: Session = {
      ...{ name: '', began: this.next(), ...fresh, key: undefined, ...ends, tokens: [token] },
      ...of,
    };
    this.sessions.push(session);
    return session;
  }

  isActive({ ended, idleEnds, endsAt, within }: Session): boolean {
    return !ended && this.now < Math.min(idleEnds, endsAt) && (!within || this.isActive(within));
  }

  /** Whether an access token works, which may outlive the idle timeout of a login, but not that of a run, or a cookie. */
  isGood([session, { cookie, accessEnds }]: By): boolean {
    const isWhileActive = session.kind === 'run' || cookie !== undefined;
    return (isWhileActive ? this.isActive(session) : !session.ended) && this.now < accessEnds;
  }

  authenticates(by: By): boolean {
    return !this.disabled && this.isGood(by);
  }

  /** What must refuse a token for an operation that needs every scope; with `fresh` also a recent sign-in. */
  refusalFor(by: By, fresh?: 'a browser' | 'a recent sign-in'): string | undefined {
    const [session] = by;
    if (!this.authenticates(by)) return 'invalid_token';
    if (!holdsEverything(session)) return 'insufficient_scope';
    const isRecent = this.now - session.createdAt <= recentSignIn;
    const isFresh = session.kind === 'browser' && (isRecent || fresh === 'a browser');
    return fresh === undefined || isFresh ? undefined : 'insufficient_user_authentication';
  }

  /** Whether one has begun there, so that the next one there is no news. */
  #isKnown(of: Session['kind'], there: number | undefined): boolean {
    return this.sessions.some(
      ({ kind, place, disowned, stolen }) => kind === of && place === there && !disowned && !stolen,
    );
  }

  end(session: Session): void {
    if (session.kind === 'key' && this.isActive(session)) this.unread.push('key_removed');
    session.ended = true;
  }

  allEnded(): void {
    for (const session of this.sessions) session.ended = true;
    for (const device of this.devices) if (device.state === 'approved') device.ended = true;
  }

  predictLink(link: OpenLink, proof: string): string {
    const isOpen = !link.spent && this.now < link.expires && (proof === 'link' || link.attempts < 5);
    const isRight = isOpen && proof !== 'wrong code';
    // A refusal rolls back the attempt, unless it is for a wrong code.
    if (isOpen && proof !== 'link' && !(isRight && this.disabled)) link.attempts += 1;
    if (!isRight) return 'invalid_grant';
    if (this.disabled) return 'account_disabled';
    for (const one of this.links) if (isMailbox(one.to, link.to)) one.spent = true;
    return 'ok';
  }

  predictRefresh([session, token]: By, { key: sent, repeated, way }: Repetition): string {
    if (this.disabled) return 'account_disabled';
    if (!this.isActive(session)) return 'invalid_grant';
    const change = changeOf(repeated, session);
    // A form without a key is recognized by its sender, who is always the same, within the leeway.
    const key = sent ?? (way === 'JSON' ? undefined : 'the sender');
    const retry = sent === undefined ? leeway : refreshRetry;
    if (token === session.tokens.at(-1)) {
      if (change) return change;
      session.tokens.push({ refresh: '', access: '', accessEnds: 0 });
      session.rotatedAt = this.now;
      session.key = key;
      const idleEnds = this.now + (session.kind === 'run' ? runIdleTtl : idleTtl);
      session.idleEnds = Math.max(session.idleEnds, idleEnds);
      return 'ok';
    }
    const age = this.now - session.rotatedAt;
    if (token === session.tokens.at(-2)) {
      if (key !== undefined && key === session.key && age <= retry) return change ?? 'ok';
      if (age <= leeway) return 'invalid_grant';
    }
    // A clock that runs backwards makes no thief.
    if (age < 0) return 'invalid_grant';
    session.ended = true;
    session.stolen = true;
    this.unread.push('theft_stopped');
    return 'invalid_grant';
  }

  predictPoll(device: Device, { key, repeated }: Repetition): string {
    const isRedeemed = device.state === 'redeemed';
    if (isRedeemed && (key === undefined || key !== device.key || this.now - device.redeemedAt > redeemRetry))
      return 'invalid_grant';
    if (device.state === 'denied') return 'access_denied';
    if (device.state === 'cancelled') return 'invalid_grant';
    if (!isRedeemed && this.now >= device.expires) return 'expired_token';
    const change = changeOf(repeated, grantedBy(device.asked));
    if (change) return change;
    if (isRedeemed) {
      if (this.disabled) return 'account_disabled';
      const { session } = device;
      const good = !session || (this.isActive(session) && session.tokens.length === 1);
      return good ? 'ok' : 'invalid_grant';
    }
    if (device.state === 'approved') {
      if (this.disabled) return 'account_disabled';
      if (device.ended) return 'invalid_grant';
      Object.assign(device, { state: 'redeemed', redeemedAt: this.now, key });
      return 'ok';
    }
    if (this.now < device.lastPoll + device.interval - 1) {
      device.interval += 5;
      return 'slow_down';
    }
    device.lastPoll = this.now;
    return 'authorization_pending';
  }

  changeAddress(address: string): void {
    if (this.address !== address) this.unread.push('email_changed');
    this.#left.push({ began: this.next(), address: this.address, at: this.now });
    this.address = address;
    this.addresses.add(address);
  }

  /** The address that a link restores: that of then, if the link went there and it was left lately and first. */
  #restored({ to }: Notice, since: number): string | null {
    const then = this.#left.find(({ began }) => began > since)?.address ?? this.address;
    const isThen = ({ address }: { readonly address: string }) => isMailbox(address, then);
    const first = this.#left.find(({ at }) => at > this.now - month);
    const isLate = () => this.#left.findLast(isThen)!.at > this.now - week;
    const isToRestore = then !== this.address && to !== this.address && isMailbox(to, then);
    return isToRestore && isLate() && first && isThen(first) ? then : null;
  }

  /** Uses the link of a notice; returns the response. */
  disown(notice: Notice, withApprover: boolean) {
    const { session } = notice;
    const { approver } = session;
    const undoesApprover = withApprover && approver !== undefined && !approver.disowned;
    if (!notice.undone || undoesApprover) this.#undo(notice, undoesApprover ? approver : undefined);
    const { email, sessions, approvals, passkeys, links } = notice.undone!;
    const of = (...kinds: Session['kind'][]) => sessions.filter(({ kind }) => kinds.includes(kind));
    const devices = [...of('device', 'app'), ...approvals];
    return {
      kind: notice.kind,
      email,
      sessions_ended: of('browser').length,
      devices_ended: devices.length,
      device_names: namesOf(devices),
      passkeys_removed: namesOf(passkeys),
      keys_removed: namesOf(of('key')),
      runs_ended: of('run').length,
      links_voided: links,
      approver: approver ? approver.disowned : null,
    };
  }

  /** Undoes everything since the session of a notice began, or its approver, and what came by their passkeys. */
  #undo(notice: Notice, approver: Session | undefined): void {
    const { now } = this;
    const since = (approver ?? notice.session).began;
    const used = [notice.session.passkey, approver?.passkey].filter((passkey) => passkey !== undefined);
    const email = this.#restored(notice, since);
    const active = this.sessions.filter((one) => this.isActive(one));
    for (const one of this.sessions) {
      one.disowned ||= one.began >= since || (one.passkey !== undefined && used.includes(one.passkey));
      one.ended ||= one.disowned || email !== null;
    }
    const isUndone = (one: Passkey) => !one.isGone && (one.began >= since || used.includes(one));
    const passkeys = this.passkeys.filter(isUndone);
    for (const passkey of passkeys) passkey.isGone = true;
    const devices = this.devices.filter(({ state, expires }) => state === 'approved' && now < expires);
    for (const device of devices) device.state = 'denied';
    const mailboxes = [this.address, email ?? this.address];
    const links = this.links.filter(({ to }) => mailboxes.some((one) => isMailbox(one, to)));
    const spend = <Thing extends Open>(things: readonly Thing[]): Thing[] => {
      const open = things.filter(({ spent, expires }) => !spent && now < expires);
      for (const one of things) one.spent = true;
      return open;
    };
    const before = notice.undone ?? { email: null, sessions: [], approvals: [], passkeys: [], links: 0 };
    const undone: Undone = {
      email: email ?? before.email,
      sessions: [...before.sessions, ...active.filter((one) => !this.isActive(one))],
      approvals: [...before.approvals, ...devices, ...spend(this.codes)],
      passkeys: [...before.passkeys, ...passkeys],
      links: before.links + spend([...links, ...this.addressChanges]).length,
    };
    if (email !== null) {
      this.address = email;
      this.#left = this.#left.filter(({ began }) => began <= since);
    }
    for (const other of this.notices) {
      if (other === notice || (!other.undone && other.session.disowned)) other.undone = undone;
      if (other !== notice && other.began > since && !other.isSent) other.isVoid = true;
      if (email !== null && !isMailbox(other.to, email)) other.isVoid = true;
    }
  }
}
