import { Auth, type AuthConfig } from '@auth/core';
import { serve } from 'bun';

const {
  LATCHKEY_SERVER = 'http://localhost:8787',
  SERVICE_KEY = '',
  AUTH_SECRET = '',
  PORT = '3000',
} = process.env;
const [clientId = '', clientSecret = ''] = SERVICE_KEY.split(':');
const userinfo = `${LATCHKEY_SERVER}/api/v1/auth/userinfo`;

const config: AuthConfig = {
  secret: AUTH_SECRET,
  trustHost: true,
  basePath: '/auth',
  providers: [
    {
      ...{ id: 'latchkey', name: 'Latchkey', type: 'oidc', issuer: LATCHKEY_SERVER, clientId, clientSecret },
      ...{ checks: ['pkce', 'state', 'nonce'], authorization: { params: { scope: 'openid profile email' } } },
    },
  ],
  callbacks: {
    jwt: async ({ token, account }) => {
      if (account) return { ...token, access: account.access_token };
      const { ok } = await fetch(userinfo, { headers: { Authorization: `Bearer ${token['access']}` } });
      return ok ? token : null;
    },
  },
};
serve({ hostname: '127.0.0.1', port: PORT, fetch: (request) => Auth(request, config) });
