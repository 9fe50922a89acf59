// The TypeScript SDK 2 as a stateless server of `echo`, 2026-07-28: PEERS_DIR=… node sdk2.mjs
// Prints its URL, and ends when its standard input is closed.
import http from 'node:http';
import { load, listen } from './peer.mjs';

const { McpServer, createMcpHandler } = await load('@modelcontextprotocol/server');
const { toNodeHandler } = await load('@modelcontextprotocol/node');
const { z } = await load('zod');

const inputSchema = z.object({ message: z.string() });
const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'echo', version: '1' }, { capabilities: { tools: {} } });
  server.registerTool('echo', { description: 'Says it back', inputSchema }, async ({ message }) => ({
    content: [{ type: 'text', text: message }],
  }));
  return server;
});
listen(http.createServer(toNodeHandler(handler)));
