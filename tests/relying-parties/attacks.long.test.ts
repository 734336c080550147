// Attacks on people who sign in to applications, against the server and against openid-client.

import { beforeEach, describe, expect, test } from 'bun:test';
import * as openid from 'openid-client';
import { cookieByMail, sameOrigin } from '#support/account.ts';
import { openApp, type Tokens } from '#support/app.ts';
import { asBrowser } from '#support/authorize.ts';
import { authorizePath } from '#support/program.ts';
import { declareService } from '#support/services.ts';
import { shared } from '#support/shared.ts';

describe('attacks on applications and their users', () => {
  const app = shared(() => openApp('sqlite'));
  type Application = Awaited<ReturnType<typeof newApplication>>;
  /** A sign-in that an application has started. */
  type Login = Awaited<ReturnType<typeof start>>;
  const charts = shared(() => newApplication('charts'));
  const wiki = shared(() => newApplication('wiki'));
  let victim: Tokens;
  let attacker: Tokens;
  /** What the network makes of a token response. */
  let alter: (tokens: Record<string, string>) => object | Promise<object>;

  const fetch: openid.CustomFetch = async (url, { method, headers, body }) => {
    const answer = await app.fetch(url, { method, headers, body: body ? String(body) : null });
    if (!url.endsWith('/token') || !answer.ok) return answer;
    return Response.json(await alter((await answer.json()) as Record<string, string>), {
      headers: answer.headers,
    });
  };

  /** An application that uses openid-client. */
  async function newApplication(name: string) {
    const redirectUri = `https://${name}.example/callback`;
    const service = await declareService(app.ctx, { name, redirectUris: [redirectUri] });
    const { baseUrl } = app.ctx.config;
    const metadata = {
      client_secret: service.secret,
      // The library has the time of this machine.
      [openid.clockSkew]: Math.round((app.ctx.clock() - Date.now()) / 1000),
    };
    const config = await openid.discovery(new URL(baseUrl), service.id, metadata, undefined, {
      execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks],
      [openid.customFetch]: fetch,
    });
    return { ...service, redirectUri, config };
  }

  beforeEach(async () => {
    alter = (tokens) => tokens;
    victim = await app.login();
    attacker = await app.login('mallory@example.com');
  });

  async function start({ config, redirectUri }: Application, changed = {}) {
    const pkceCodeVerifier = openid.randomPKCECodeVerifier();
    const checks = {
      pkceCodeVerifier,
      expectedState: openid.randomState(),
      expectedNonce: openid.randomNonce(),
    };
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: 'openid email',
      state: checks.expectedState,
      nonce: checks.expectedNonce,
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      ...changed,
    });
    return { parameters: Object.fromEntries(url.searchParams), checks };
  }

  /** Where a decision sends the browser. */
  async function decided(tokens: Tokens, { parameters }: Login, decision = 'approve'): Promise<URL> {
    const { body } = await asBrowser(app, tokens, decision, parameters);
    return new URL(body.redirect);
  }

  /** What keeps an application from signing somebody in. */
  const refusal = async ({ config }: Application, response: URL, { checks }: Login): Promise<string> =>
    openid.authorizationCodeGrant(config, response, checks).then(
      () => 'none',
      (error) => error.error ?? error.cause?.message ?? error.message,
    );

  test('a response of this service is not taken for that of another issuer, and its code is sent nowhere', async () => {
    const sent: string[] = [];
    const evil = new openid.Configuration(
      {
        issuer: 'https://evil.example',
        token_endpoint: 'https://evil.example/token',
        authorization_response_iss_parameter_supported: true,
      },
      charts.id,
      charts.secret,
    );
    evil[openid.customFetch] = async (url) => {
      sent.push(url);
      return Response.json({});
    };
    for (const decision of ['approve', 'deny']) {
      const login = await start(charts);
      const response = await decided(victim, login, decision);
      expect(await refusal({ ...charts, config: evil }, response, login)).toContain('"iss"');
    }
    expect(sent).toEqual([]);
  });

  test("a stolen code gets nothing in the attacker's own login, at its application or at another", async () => {
    for (const target of [charts, wiki]) {
      const stolen = await decided(victim, await start(charts));
      const own = await start(target);
      const injected = await decided(attacker, own);
      injected.searchParams.set('code', stolen.searchParams.get('code') ?? '');
      expect(await refusal(target, injected, own)).toBe('invalid_grant');
    }
  });

  test('a stolen response signs nobody in whose browser did not start the login', async () => {
    const response = await decided(attacker, await start(charts));
    expect(await refusal(charts, response, await start(charts))).toContain('"state"');
  });

  const idTokenOf = async (tokens: Tokens, application: Application): Promise<string> => {
    const login = await start(application);
    const { config } = application;
    const granted = await openid.authorizationCodeGrant(config, await decided(tokens, login), login.checks);
    return granted.id_token ?? '';
  };

  test('an identity token signs nobody in to another application, nor in another login', async () => {
    for (const [source, claim] of [
      [charts, '"aud"'],
      [wiki, '"nonce"'],
    ] as const) {
      const id_token = await idTokenOf(victim, source);
      const login = await start(wiki);
      const response = await decided(attacker, login);
      alter = (tokens) => ({ ...tokens, id_token });
      expect(await refusal(wiki, response, login)).toContain(claim);
      alter = (tokens) => tokens;
    }
  });

  test('prompt=none says the same to everybody, so that no frame learns who is signed in', async () => {
    const cookie = await cookieByMail(app, 'grace@example.com');
    const { parameters } = await start(charts, { prompt: 'none' });
    const answers = await Promise.all(
      [{}, { cookie, headers: { ...sameOrigin, 'Sec-Fetch-Dest': 'iframe' } }].map((sent) =>
        app.ask('GET', authorizePath(parameters).slice(1), sent),
      ),
    );
    const [stranger, user] = answers.map(({ status, headers, text }) => [
      status,
      text,
      ...[...headers].filter(([name]) => name !== 'x-request-id'),
    ]);
    expect(stranger).toEqual(user!);
    expect(answers[0]?.headers.get('Location')).toContain('error=interaction_required');
    const page = await app.ask('GET', authorizePath({ ...parameters, prompt: 'login' }).slice(1));
    expect(page.headers.get('Content-Security-Policy')).toContain("frame-ancestors 'none'");
  });

  test('a request larger than any cookie is answered whole, by GET and by POST', async () => {
    const id_token_hint = await idTokenOf(victim, charts);
    const largest = { state: '%'.repeat(2_048), nonce: 'n'.repeat(512), login_hint: 'h'.repeat(512) };
    const login = await start(charts, { ...largest, id_token_hint });
    const { status, headers } = await app.ask('POST', 'authorize', { form: login.parameters });
    expect([status, headers.get('Location')?.length]).toEqual([303, expect.any(Number)]);
    expect(headers.get('Location')?.length).toBeGreaterThan(2 * 4_096);
    expect((await app.ask('GET', (headers.get('Location') ?? '').slice(1))).status).toBe(200);
    const response = await decided(victim, login);
    const checks = { ...login.checks, expectedState: largest.state, expectedNonce: largest.nonce };
    expect(await refusal(charts, response, { ...login, checks })).toBe('none');
  });
});
