import { createGuard } from '@latchkey/client/guard';
import { callerOf, requireCaller } from '@latchkey/client/guard/express';
import { createVerifier } from '@latchkey/client/verify';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express from 'express';

const { LATCHKEY_SERVER = 'http://localhost:8787', SERVICE_KEY = '', PORT = '3000' } = process.env;
const { RESOURCE = `http://localhost:${PORT}/mcp` } = process.env;
const verifier = createVerifier({ server: LATCHKEY_SERVER, serviceKey: SERVICE_KEY });
const onUnavailable = (error: Error) => console.error(error.message);
const guard = createGuard({ verifier, resource: RESOURCE, scopes: ['projects:read'], onUnavailable });

const app = express();
app.use('/mcp', (_request, response, next) => {
  response.set('Access-Control-Allow-Origin', '*');
  response.set('Access-Control-Allow-Headers', 'Authorization, Content-Type, MCP-Protocol-Version');
  next();
});
app.use(requireCaller(guard));
app.options('/mcp', (_request, response) => response.sendStatus(204));
app.post('/mcp', express.json(), async (request, response) => {
  const { subject } = callerOf(request);
  const server = new McpServer({ name: 'projects', version: '1.0.0' });
  server.registerTool('list_projects', { description: 'Lists the projects of the user' }, () => ({
    content: [{ type: 'text', text: `The projects of ${subject}` }],
  }));
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.on('close', () => server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response, request.body);
});
app.all('/mcp', (_request, response) => response.sendStatus(405));
app.listen(Number(PORT));
