// Signs in at the server of the first argument with a browser that comes back: says the address to open, then the tokens.

import { createApi } from '@latchkey/client/api';
import { startBrowserLogin } from '@latchkey/client/browser-login';

const answer = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);

const login = await startBrowserLogin(createApi({ server: process.argv[2] ?? '' }), { deviceName: 'den' });
answer(login.authorizationUrl);
answer(await login.tokens().catch(({ code }) => ({ code })));
