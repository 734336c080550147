// Uses a server of the Model Context Protocol whose URL is in its environment, and holds no credential for it.

import { createInterface } from 'node:readline';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const say = (message: unknown) => process.stdout.write(`${JSON.stringify(message)}\n`);
const transport = new StreamableHTTPClientTransport(new URL(process.env['LATCHKEY_FORWARD_MCP'] ?? ''));
const client = new Client({ name: 'notebook', version: '1.0.0' });
await client.connect(transport as Parameters<typeof client.connect>[0]);
say(process.pid);
for await (const _ of createInterface(process.stdin))
  say((await client.callTool({ name: 'list_projects' })).content);
await client.close();
