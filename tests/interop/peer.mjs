// peer.mjs legacy|modern: a server made with npm's SDK that offers, over standard input and output, what our interop
// server offers under the same names (a part of it). transcripts.mjs says the same to both.
import { McpServer as Server1, ResourceTemplate as Template1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { completable as completable1 } from '@modelcontextprotocol/sdk/server/completable.js';
import { StdioServerTransport as Stdio1 } from '@modelcontextprotocol/sdk/server/stdio.js';
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import {
  completable as completable2, inputRequired, McpServer as Server2, ResourceTemplate as Template2,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const modern = process.argv[2] === 'modern';
const [Server, Template, completable] = modern ? [Server2, Template2, completable2] : [Server1, Template1, completable1];

const picture = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64');
const words = text => [{ type: 'text', text }];
const say = text => ({ content: words(text) });
const told = value => ({ content: words(JSON.stringify(value)), structuredContent: value });
const user = content => ({ role: 'user', content });

const opened = {};
const waiting = {};
function open(gate) {
  opened[gate] = (opened[gate] ?? 0) + 1;
  for (const look of (waiting[gate] ?? []).splice(0)) look();
}
async function gateOpen(gate, times) {
  while ((opened[gate] ?? 0) < times) await new Promise(look => (waiting[gate] ??= []).push(look));
}

const flavours = {
  type: 'object',
  properties: {
    flavour: { type: 'string', title: 'Flavour', enum: ['plain', 'süß', 'salty'] },
    scoops: { type: 'integer', minimum: 1, maximum: 9 },
    cone: { type: 'boolean', default: true },
  },
  required: ['flavour', 'scoops'],
};
const samplingParams = prompt => ({
  messages: [user({ type: 'text', text: prompt })],
  systemPrompt: 'Be brief.',
  maxTokens: 64,
});

const progress = ({ _meta }, params) => ({
  method: 'notifications/progress',
  params: { progressToken: _meta?.progressToken, ...params },
});

/// What differs between the SDK's two servers, for a call under way.
function talk(server, context) {
  if (!modern) {
    return {
      progress: params => context.sendNotification(progress(context, params)),
      log: params => server.server.sendLoggingMessage(params, context.sessionId),
      form: params => server.server.elicitInput(params),
      model: params => server.server.createMessage(params),
      roots: () => server.server.listRoots(),
    };
  }
  const { mcpReq } = context;
  const ask = (name, request) => {
    const answer = mcpReq.inputResponses?.[name];
    if (answer === undefined) throw inputRequired({ inputRequests: { [name]: request } });
    return answer;
  };
  return {
    progress: params => mcpReq.notify(progress(mcpReq, params)),
    log: ({ level, data, logger }) => mcpReq.log(level, data, logger),
    form: params => ask('flavour', inputRequired.elicit(params)),
    model: params => ask('text', inputRequired.createMessage(params)),
    roots: () => ask('roots', inputRequired.listRoots()),
  };
}

function addTools(server) {
  const add = (name, description, shape, run, more = {}) =>
    server.registerTool(name, { description, inputSchema: modern ? z.object(shape) : shape, ...more }, async (given, context) => {
      try {
        return await run(given, talk(server, context));
      } catch (thrown) {
        if (thrown?.resultType === 'input_required') return thrown;
        throw thrown;
      }
    });
  add('echo', 'Says it again', { text: z.string() }, ({ text }) => say(text));
  const area = { area: z.number(), unit: z.string() };
  add(
    'area', 'The area of a rectangle', { width: z.number(), height: z.number() },
    ({ width, height }) => told({ area: width * height, unit: 'm²' }),
    {
      title: 'Area',
      outputSchema: modern ? z.object(area) : area,
      annotations: { title: 'Area', readOnlyHint: true, openWorldHint: false },
    },
  );
  add('blocks', 'Answers with every kind of content', {}, () => ({
    content: [
      { type: 'text', text: 'for the user', annotations: { audience: ['user'], priority: 0.5 } },
      { type: 'image', data: picture, mimeType: 'image/png' },
      { type: 'audio', data: Buffer.from('RIFF').toString('base64'), mimeType: 'audio/wav' },
      { type: 'resource', resource: { uri: 'interop://inside', text: 'a text inside', mimeType: 'text/plain' } },
      { type: 'resource', resource: { uri: 'interop://bytes', blob: picture, mimeType: 'image/png' } },
      { type: 'resource_link', uri: 'interop://text', name: 'text', mimeType: 'text/plain' },
    ],
  }));
  add('failing', 'Fails, and shows why', {}, () => ({
    content: [...words('It cannot be drawn: see the picture.'), { type: 'image', data: picture, mimeType: 'image/png' }],
    isError: true,
  }));
  add('speak', 'Logs one line at each of four levels', {}, async (_, { log }) => {
    await log({ level: 'debug', data: 'a detail', logger: 'interop' });
    await log({ level: 'info', data: { step: 1 }, logger: 'interop' });
    await log({ level: 'warning', data: 'a warning', logger: 'interop' });
    await log({ level: 'error', data: { failed: true } });
    return say('said');
  });
  add('advance', 'Opens a gate once', { gate: z.string() }, ({ gate }) => {
    open(gate);
    return say('open');
  });
  add('steps', 'Takes five turns', { gate: z.string() }, async ({ gate }, { progress }) => {
    for (let turn = 1; turn <= 5; ++turn) {
      await progress({ progress: turn, total: 5, message: `turn ${turn} of 5` });
      await gateOpen(gate, turn);
    }
    return say('five turns');
  });
  add('hold', 'Waits until it is called off', { gate: z.string() }, async ({ gate }, { progress }) => {
    await progress({ progress: 0, total: 1, message: 'holding' });
    await gateOpen(gate, 1);
    return say('let through');
  });
  add('ask_form', 'Asks a person for a form', {}, async (_, { form }) => {
    const { action, content } = await form({ message: 'Which flavour?', requestedSchema: flavours });
    return told({ action, content: content ?? null });
  });
  add('ask_model', "Asks the client's model", { prompt: z.string() }, async ({ prompt }, { model }) => {
    const { role, content, model: name, stopReason } = await model(samplingParams(prompt));
    return told({ action: 'accept', content: { role, content, model: name, stopReason } });
  });
  add('ask_roots', "Asks for the client's roots", {}, async (_, { roots }) => told({ action: 'accept', content: await roots() }));
  add('touch', 'Says that a resource has changed', { uri: z.string() }, async ({ uri }) => {
    await server.server.sendResourceUpdated({ uri });
    return say('touched');
  });
}

function addCatalogue(server) {
  const text = 'Grüße aus der Ressource 🎈\n';
  server.registerResource(
    'text', 'interop://text',
    {
      title: 'A text',
      description: 'A text with more than ASCII in it',
      mimeType: 'text/plain',
      size: 30,
      annotations: { audience: ['assistant'] },
    },
    uri => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text }] }),
  );
  server.registerResource('picture', 'interop://picture', { mimeType: 'image/png' }, uri => ({
    contents: [{ uri: uri.href, mimeType: 'image/png', blob: picture }],
  }));
  const book = new Template('interop://shelf/{shelf}/{book}', {
    list: undefined,
    complete: { shelf: value => ['poems', 'plays', 'maps'].filter(one => one.startsWith(value)) },
  });
  const about = { title: 'A book', description: 'A book by its shelf and name', mimeType: 'application/json' };
  server.registerResource('book', book, about, (uri, { shelf, book }) => ({
    contents: [{ uri: uri.href, mimeType: 'application/json', text: JSON.stringify({ shelf, book }) }],
  }));
  server.registerPrompt('greeting', { description: 'One message' }, () => ({
    description: 'One message',
    messages: [user({ type: 'text', text: 'Hello.' })],
  }));
  const tones = value => [`${value}!`, 'no code'];
  const args = {
    code: z.string().describe('What to look at'),
    tone: modern
      ? completable(z.string(), tones).optional().describe('How to say it')
      : completable(z.string().optional().describe('How to say it'), tones),
  };
  const review = { title: 'Review', description: 'Asks for a review', argsSchema: modern ? z.object(args) : args };
  server.registerPrompt('review', review, ({ code, tone }) => ({
    description: 'Asks for a review',
    messages: [
      user({ type: 'text', text: `Review this: ${code}` }),
      { role: 'assistant', content: { type: 'text', text: 'In what tone?' } },
      user({ type: 'text', text: tone ?? 'any' }),
    ],
  }));
}

function make() {
  const changes = { listChanged: true };
  const server = new Server(
    { name: 'callgate-interop', title: 'Callgate, as others meet it', version: '1.2.3' },
    {
      instructions: 'Call what you like: nothing here changes anything.',
      capabilities: { tools: changes, resources: { ...changes, subscribe: true }, prompts: changes, completions: {}, logging: {} },
    },
  );
  addTools(server);
  addCatalogue(server);
  if (!modern) {
    server.server.setRequestHandler(SubscribeRequestSchema, () => ({}));
    server.server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
  }
  return server;
}

if (modern) serveStdio(make);
else await make().connect(new Stdio1());
