// The peers, each as a function that makes one tool call: add 1 and 2, arguments in the form the peer takes them from a
// model, result in the form it hands back. No network, no model, no tracing.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

process.env.OPENAI_AGENTS_DISABLE_TRACING = '1';
process.env.LANGSMITH_TRACING = 'false';
process.env.LANGCHAIN_TRACING_V2 = 'false';

const home = process.env.PEERS_DIR;
const require = createRequire(join(home, 'package.json'));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);

const expect = (what, got, wanted) => {
  if (got !== wanted) throw new Error(`${what}: expected ${wanted}, got ${JSON.stringify(got)}`);
};

async function langgraph(z) {
  const { ToolNode } = await load('@langchain/langgraph/prebuilt');
  const { tool } = await load('@langchain/core/tools');
  const { AIMessage } = await load('@langchain/core/messages');
  const add = tool(async ({ a, b }) => String(a + b), {
    name: 'add',
    description: 'Add two numbers',
    schema: z.object({ a: z.number(), b: z.number() }),
  });
  const node = new ToolNode([add]);
  const message = new AIMessage({
    content: '',
    tool_calls: [{ id: 'c0', name: 'add', args: { a: 1, b: 2 }, type: 'tool_call' }],
  });
  const call = () => node.invoke({ messages: [message] });
  expect('langgraph', (await call()).messages[0].content, '3');
  return call;
}

async function aiSdk(z) {
  const { generateText, tool, stepCountIs } = await load('ai');
  const { MockLanguageModelV3 } = await load('ai/test');
  const add = tool({
    description: 'Add two numbers',
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: async ({ a, b }) => a + b,
  });
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const model = new MockLanguageModelV3({
    doGenerate: async () => ({
      finishReason: { unified: 'tool-calls', raw: 'x' },
      usage,
      warnings: [],
      content: [{ type: 'tool-call', toolCallId: 'c0', toolName: 'add', input: '{"a":1,"b":2}' }],
    }),
  });
  const call = () => {
    model.doGenerateCalls.length = 0;
    return generateText({ model, prompt: 'x', tools: { add }, stopWhen: stepCountIs(1) });
  };
  expect('ai', (await call()).toolResults[0].output, 3);
  return call;
}

async function openaiInvoke(z) {
  const agents = await load('@openai/agents');
  agents.setTracingDisabled(true);
  const add = agents.tool({
    name: 'add',
    description: 'Add two numbers',
    parameters: z.object({ a: z.number(), b: z.number() }),
    execute: async ({ a, b }) => a + b,
  });
  const context = new agents.RunContext({});
  const call = () => add.invoke(context, '{"a":1,"b":2}');
  expect('openai', String(await call()), '3');
  return call;
}

async function mcpInMemory(z) {
  const { McpServer } = await load('@modelcontextprotocol/sdk/server/mcp.js');
  const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
  const { InMemoryTransport } = await load('@modelcontextprotocol/sdk/inMemory.js');
  const server = new McpServer({ name: 'server', version: '1' });
  server.registerTool(
    'add',
    { description: 'Add two numbers', inputSchema: { a: z.number(), b: z.number() } },
    async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }),
  );
  const [left, right] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: 'client', version: '1' });
  await Promise.all([server.connect(left), client.connect(right)]);
  const call = () => client.callTool({ name: 'add', arguments: { a: 1, b: 2 } });
  expect('mcp', (await call()).content[0].text, '3');
  return call;
}

export async function loadPeers() {
  const { z } = await load('zod');
  return {
    langgraph: await langgraph(z),
    openai_invoke: await openaiInvoke(z),
    ai_sdk: await aiSdk(z),
    mcp_inmemory: await mcpInMemory(z),
  };
}
