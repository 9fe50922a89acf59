// The TypeScript SDK 1 as a server of `echo`: PEERS_DIR=… node sdk1.mjs stdio | http
// Over HTTP it keeps no sessions, so each request has a server of its own, as the SDK's documentation has it; it answers in
// JSON, prints its URL, and ends when its standard input is closed.
import http from 'node:http';
import { load, listen } from './peer.mjs';

const { McpServer } = await load('@modelcontextprotocol/sdk/server/mcp.js');
const { StdioServerTransport } = await load('@modelcontextprotocol/sdk/server/stdio.js');
const { StreamableHTTPServerTransport } = await load('@modelcontextprotocol/sdk/server/streamableHttp.js');
const { z } = await load('zod');

const inputSchema = { message: z.string() };
function newServer() {
  const server = new McpServer({ name: 'echo', version: '1' });
  server.registerTool('echo', { description: 'Says it back', inputSchema }, async ({ message }) => ({
    content: [{ type: 'text', text: message }],
  }));
  return server;
}

async function answer(request, response) {
  const server = newServer();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  response.on('close', () => {
    transport.close();
    server.close();
  });
  await server.connect(transport);
  await transport.handleRequest(request, response);
}

if (process.argv[2] === 'stdio') await newServer().connect(new StdioServerTransport());
else listen(http.createServer(answer));
