// Every way in which a login ends.

import { expect } from 'bun:test';
import {
  findAccountByEmail,
  revokeAllSessions,
  setDisabled,
} from '../../packages/server/src/identity/account/account.ts';
import { readToken } from '../../packages/server/src/sessions/tokens.ts';
import { deleteAccount } from '../../packages/server/src/whole-account/personal-data.ts';
import { outcome } from './account.ts';
import type { TestApp, Tokens } from './app.ts';

type End = (app: TestApp, login: Tokens, email: string) => Promise<unknown>;

export const endings = {
  'signing out': (app, { access_token: token }) => app.ask('DELETE', '/logout?scope=session', { token }),
  'signing out everywhere': (app, { access_token: token }) => app.ask('POST', '/revoke', { token }),
  'revoking its token': (app, { refresh_token: token }) => app.ask('POST', '/revoke', { form: { token } }),
  'a theft': async (app, { refresh_token }) => {
    const refresh = () => app.ask('POST', '/refresh', { json: { refresh_token } });
    await refresh();
    app.pass(11);
    expect(outcome(await refresh())).toBe('400 invalid_grant');
  },
  'another session of the user': async (app, { access_token }, email) => {
    const { access_token: token } = await app.login(email);
    await app.ask('DELETE', `/sessions/${readToken(app.ctx, access_token)!.sessionId}`, { token });
  },
  'signing out by the operator': async (app, _, email) =>
    revokeAllSessions(app.ctx, await findAccountByEmail(app.ctx, email), 'operator'),
  'disabling the account': (app, _, email) => setDisabled(app.ctx, email, true),
  'deleting the account': (app, _, email) => deleteAccount(app.ctx, email),
} satisfies Record<string, End>;
