// Everything that a person does with the service, as a sequence of steps. Many people finish a step before the next one.

import { mintHandle, readHandle } from '../../packages/server/src/platform/crypto/handle.ts';
import type { KeyRing } from '../../packages/server/src/platform/crypto/primitives.ts';
import type { Ask } from '../../tests/support/app.ts';
import { type Authenticator, createAuthenticator } from '../../tests/support/authenticator.ts';
import { serviceAt } from '../../tests/support/http.ts';

interface Person {
  readonly email: string;
  readonly authenticator: Authenticator;
  accessToken: string;
  refreshToken: string;
  /** The body of the last response, which the next step needs. */
  // biome-ignore lint/suspicious/noExplicitAny: it differs in every step
  answer: any;
}

export interface JourneySettings {
  readonly url: string;
  readonly keys: KeyRing;
  /** The `Authorization` header of a service. */
  readonly service: string;
}

/** The step whose sessions were last used so long ago that the service stores their use again. */
export const meStoringTheUse = 'GET /me, storing the use';

/** One kind of request. Depends on the steps before it. */
export interface Step {
  readonly name: string;
  run(person: number): Promise<void>;
}

export function journeyOf({ url, keys, service }: JourneySettings, count: number): Step[] {
  const origin = `http://localhost:${new URL(url).port}`;
  const people: Person[] = Array.from({ length: count }, (_, index) => ({
    email: `person-${String(index).padStart(8, '0')}@example.com`,
    authenticator: createAuthenticator({ origin, algorithm: 'ES256' }),
    accessToken: '',
    refreshToken: '',
    answer: undefined,
  }));

  const ask = async (person: Person, method: string, path: string, options: Ask = {}): Promise<void> => {
    const headers = {
      'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    };
    const answer = await serviceAt(url).ask(method, path, {
      ...options,
      headers: { ...headers, ...options.headers },
    });
    if (answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    person.answer = answer.body;
  };
  const keepTokens = (person: Person): void => {
    person.accessToken = person.answer.access_token;
    person.refreshToken = person.answer.refresh_token;
  };
  /** Computes the token in the mail from the request handle and the keys, as the mail worker does. */
  const mailedToken = (person: Person): string =>
    mintHandle(keys, 'magicLink', readHandle(keys, 'magicLinkRequest', person.answer.request)!);

  const steps: Record<string, (person: Person) => Promise<void>> = {
    'POST /magic_link': (person) => ask(person, 'POST', '/magic_link', { json: { email: person.email } }),
    'POST /magic_link/verify, a new account': async (person) => {
      await ask(person, 'POST', '/magic_link/verify', { json: { token: mailedToken(person) } });
      keepTokens(person);
    },
    'POST /passkey/register/challenge': (person) =>
      ask(person, 'POST', '/passkey/register/challenge', { token: person.accessToken }),
    'POST /passkey/register': (person) =>
      ask(person, 'POST', '/passkey/register', {
        token: person.accessToken,
        json: person.authenticator.create(person.answer),
      }),
    'POST /passkey/login/challenge': (person) => ask(person, 'POST', '/passkey/login/challenge'),
    'POST /passkey/login': async (person) => {
      await ask(person, 'POST', '/passkey/login', { json: person.authenticator.get(person.answer) });
      keepTokens(person);
    },
    'POST /device': (person) =>
      ask(person, 'POST', '/device', { json: { client_name: 'latchkey', device_name: 'a laptop' } }),
    'POST /token, too early': async (person) => {
      const json = { device_code: person.answer.device_code };
      const { status } = await serviceAt(url).ask('POST', '/token', { json });
      if (status !== 400) throw new Error(`POST /token: ${status}`);
    },
    'POST /device/approve': async (person) => {
      const { user_code, device_code } = person.answer;
      await ask(person, 'POST', '/device/approve', { token: person.accessToken, json: { user_code } });
      person.answer = { device_code };
    },
    'POST /token': async (person) => {
      await ask(person, 'POST', '/token', { json: person.answer });
      keepTokens(person);
    },
    'GET /me': (person) => ask(person, 'GET', '/me', { token: person.accessToken }),
    [meStoringTheUse]: (person) => ask(person, 'GET', '/me', { token: person.accessToken }),
    'GET /organizations': (person) => ask(person, 'GET', '/organizations', { token: person.accessToken }),
    'POST /introspect': (person) =>
      ask(person, 'POST', '/introspect', {
        json: { token: person.accessToken },
        headers: { Authorization: service },
      }),
    'POST /refresh': async (person) => {
      await ask(person, 'POST', '/refresh', { json: { refresh_token: person.refreshToken } });
      keepTokens(person);
    },
  };
  return Object.entries(steps).map(([name, work]) => ({ name, run: (index) => work(people[index]!) }));
}
