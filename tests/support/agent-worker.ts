// Uses the agent and the server of its arguments by way of the environment.

import { sessionFromEnvironment } from '@latchkey/client/environment';

const [, , agent = '', server = ''] = process.argv;
process.env['LATCHKEY_AGENT'] = agent;
process.env['LATCHKEY_SERVER'] = server;
const session = sessionFromEnvironment();
const me = await session?.call('getProfile');
const first = await session?.accessToken();
const sameToken = first === (await session?.accessToken());
process.stdout.write(`${JSON.stringify({ email: me?.email, sameToken })}\n`);
