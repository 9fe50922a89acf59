// What every client is tried with. A cell runs against one side, and throws where our server says anything other than what
// it was programmed to say (answers.cpp, turns.cpp, questions.cpp, catalogue.cpp).
//
// A cell that a side cannot have says why in `not`, and is not counted there:
//   ping, logging/setLevel, resources/subscribe, sessions   2026-07-28 does not have them
//   a resumed stream, the end of a session                  pipes do not have them, nor has 2026-07-28
//   an exit code                                            over HTTP the client did not start the server
//   tasks                                                   our server has them as 2026-07-28 has them; of the clients only
//                                                           client2 with ext-tasks knows those
import { Mismatch, raw, same } from './exact.mjs';
import { capabilities, info } from './sides.mjs';
import { taskCells } from './task_cells.mjs';

const picture = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64');
const serverInfo = { name: 'callgate-interop', title: 'Callgate, as others meet it', version: '1.2.3' };
const strange = 'Grüße, 世界! 🎈 \u2028 "quoted" \\ \u0000 \u001f end';
const logLevel = 'io.modelcontextprotocol/logLevel';
const empty = { type: 'object', properties: {} };

let gates = 0;
const newGate = () => `gate ${++gates}`;
const words = text => [{ type: 'text', text }];

/// A result without what the envelope of its era adds to every one.
function bare({ resultType, ttlMs, cacheScope, _meta, ...rest }) {
  if (resultType !== undefined && resultType !== 'complete') throw new Mismatch('complete', resultType, 'resultType');
  const { 'io.modelcontextprotocol/serverInfo': server, ...meta } = _meta ?? {};
  if (server !== undefined) same(server, serverInfo, 'serverInfo');
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}

async function answers(call, expected) {
  same(bare(await call), expected);
}

async function fails(call, code, data) {
  let seen;
  try {
    seen = await call;
  } catch (error) {
    same(error.code, code, `the code of: ${error.message}`);
    if (data !== undefined) same(error.data, data, 'the data of the error');
    return;
  }
  throw new Mismatch(`error ${code}`, seen);
}

const structured = value => ({ content: words(JSON.stringify(value)), structuredContent: value });

const modernOnly = why => side => side.modern && why;
const noSession = 'no sessions in 2026-07-28';

async function steps(side) {
  const gate = newGate();
  const order = [];
  const moved = [];
  const result = side.call(
    'steps',
    { gate },
    {
      onprogress: progress => {
        order.push(progress);
        moved.push(side.call('advance', { gate }));
      },
    },
  );
  await answers(
    result.then(answer => {
      order.push('result');
      return answer;
    }),
    { content: words('five turns') },
  );
  for (const call of moved) await answers(call, { content: words('open') });
  const turns = [1, 2, 3, 4, 5].map(turn => ({ progress: turn, total: 5, message: `turn ${turn} of 5` }));
  same(order, [...turns, 'result'], 'what came, in its order');
}

async function cancel(side) {
  const gate = newGate();
  const giveUp = new AbortController();
  const call = side.call('hold', { gate }, { signal: giveUp.signal, onprogress: () => giveUp.abort('not needed') });
  let ended;
  try {
    ended = await call;
  } catch {}
  if (ended !== undefined) throw new Mismatch('a call that was given up', ended);
  await answers(side.call('await', { gate: `noticed ${gate}` }), { content: words('open') });
}

async function atOnce(side) {
  const numbers = [...Array(64).keys()];
  const all = await Promise.all(numbers.map(number => side.call('echo', { text: `number ${number}` })));
  same(all.map(bare), numbers.map(number => ({ content: words(`number ${number}`) })));
}

const messages = side => side.arrived['notifications/message'];
const said = [
  { level: 'warning', logger: 'interop', data: 'a warning' },
  { level: 'error', data: { failed: true } },
];

async function logging(side) {
  if (side.legacy) await side.client.setLoggingLevel('warning');
  await answers(side.call('speak', {}, {}, side.modern ? { [logLevel]: 'warning' } : undefined), { content: words('said') });
  same((await messages(side).take(2)).map(bare), said);
  if (side.legacy) await side.client.setLoggingLevel('info');
  await answers(side.call('speak', {}, {}, side.modern ? { [logLevel]: 'info' } : undefined), { content: words('said') });
  same((await messages(side).take(3)).map(bare), [{ level: 'info', logger: 'interop', data: { step: 1 } }, ...said]);
  if (side.modern) {
    await answers(side.call('speak'), { content: words('said') }); // nobody asked
    await side.call('echo', { text: 'a fence' });
    same(await messages(side).take(0), []);
  }
}

const updates = side => side.arrived['notifications/resources/updated'];
const touch = (side, uri) => answers(side.call('touch', { uri }), { content: words('touched') });
/// Without what says which stream it came on.
const withoutMeta = ({ _meta, ...rest }) => rest;

// What is not subscribed to is not reported: the next that comes is the one that is.
async function watch(side) {
  const [first, second] = ['interop://first', 'interop://second'];
  const subscribe = side.modern
    ? uris => side.client.listen({ resourceSubscriptions: uris })
    : uris => Promise.all(uris.map(uri => side.client.subscribeResource({ uri })));
  const subscription = await subscribe([first]);
  await touch(side, second);
  await touch(side, first);
  same((await updates(side).take(1)).map(withoutMeta), [{ uri: first }]);
  if (side.modern) await subscription.close();
  else await side.client.unsubscribeResource({ uri: first });
  const other = await subscribe([second]);
  await touch(side, first);
  await touch(side, second);
  same((await updates(side).take(1)).map(withoutMeta), [{ uri: second }]);
  if (side.modern) await other.close();
  else await side.client.unsubscribeResource({ uri: second });
}

function listChanged(what) {
  return async side => {
    const filter = { tools: 'toolsListChanged', resources: 'resourcesListChanged', prompts: 'promptsListChanged' }[what];
    const subscription = side.modern ? await side.client.listen({ [filter]: true }) : undefined;
    if (subscription) same(subscription.honoredFilter, { [filter]: true }, 'the filter that was honoured');
    await answers(side.call('change', { what }), { content: words(what) });
    same((await side.arrived[`notifications/${what}/list_changed`].take(1)).map(withoutMeta), [{}]);
    if (what === 'tools') {
      const changed = (await side.list('tools')).find(tool => tool.name === 'changing');
      if (!/^Version [2-9]/.test(changed.description)) throw new Mismatch('a later version', changed.description);
    }
    await subscription?.close();
  };
}

const flavours = {
  message: 'Which flavour?',
  requestedSchema: {
    type: 'object',
    properties: {
      flavour: { type: 'string', title: 'Flavour', enum: ['plain', 'süß', 'salty'] },
      scoops: { type: 'integer', minimum: 1, maximum: 9 },
      cone: { type: 'boolean', default: true },
    },
    required: ['flavour', 'scoops'],
  },
};

// `mode` may be left out: then it is "form".
function askedForm(side, count = 1) {
  same(side.asked.map(one => one.method), Array(count).fill('elicitation/create'));
  return side.asked.map(({ params: { mode, _meta, ...rest } }) => rest);
}

function form(answer, expected) {
  return async side => {
    side.answers['elicitation/create'] = () => answer;
    await answers(side.call('ask_form'), structured(expected));
    same(askedForm(side), [flavours]);
  };
}

async function twice(side) {
  const said = ['eins', 'zwei 🎈'];
  side.answers['elicitation/create'] = () => ({ action: 'accept', content: { word: said[side.asked.length - 1] } });
  await answers(side.call('ask_twice'), { content: words('{"word":"eins"} {"word":"zwei 🎈"}') });
  const schema = { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] };
  same(askedForm(side, 2), [
    { message: 'The first word?', requestedSchema: schema },
    { message: 'The second word?', requestedSchema: schema },
  ]);
}

// The person's answer comes while other calls go on.
async function whileAsked(side) {
  side.answers['elicitation/create'] = async () => {
    await answers(side.call('echo', { text: 'meanwhile' }), { content: words('meanwhile') });
    return { action: 'decline' };
  };
  await answers(side.call('ask_form'), structured({ action: 'decline', content: null }));
}

async function sampling(side) {
  const answer = { role: 'assistant', content: { type: 'text', text: 'Kürze ✓' }, model: 'trial-1', stopReason: 'endTurn' };
  side.answers['sampling/createMessage'] = () => answer;
  const result = bare(await side.call('ask_model', { prompt: 'Say it.' }));
  same(result.structuredContent, { action: 'accept', content: answer });
  const { _meta, ...params } = side.asked[0].params;
  same(params, {
    messages: [{ role: 'user', content: { type: 'text', text: 'Say it.' } }],
    systemPrompt: 'Be brief.',
    maxTokens: 64,
  });
}

async function roots(side) {
  const answer = { roots: [{ uri: 'file:///home/user/pröjekt', name: 'project' }, { uri: 'file:///tmp' }] };
  side.answers['roots/list'] = () => answer;
  const result = bare(await side.call('ask_roots'));
  same(result.structuredContent.action, 'accept');
  const seen = result.structuredContent.content;
  same(seen.roots ?? seen, answer.roots);
}

async function refused(side) {
  side.answers['sampling/createMessage'] = () => {
    throw new Error('the model is asleep');
  };
  if (side.modern) {
    // There the client ends its own call.
    let seen;
    try {
      seen = await side.call('ask_model', { prompt: 'Say it.' });
    } catch (error) {
      if (!/asleep/.test(error.message)) throw new Mismatch('the model is asleep', error.message);
    }
    if (seen !== undefined) throw new Mismatch('a call that its client gave up', seen);
    return;
  }
  const result = bare(await side.call('ask_model', { prompt: 'Say it.' }));
  same(result.isError, true);
  if (!/asleep/.test(result.content[0].text)) throw new Mismatch('… the model is asleep …', result.content[0].text);
}

const toolNames = [
  'advance', 'area', 'ask_form', 'ask_model', 'ask_roots', 'ask_twice', 'asking_job', 'await', 'blocks', 'broken_job', 'caller', 'change',
  'changing', 'echo', 'exact', 'failing', 'failing_job', 'hold', 'in_region', 'job', 'leave', 'speak', 'steps', 'touch',
];
const number = { type: 'number' };
const string = { type: 'string' };
const areaTool = {
  name: 'area',
  title: 'Area',
  description: 'The area of a rectangle',
  inputSchema: { type: 'object', properties: { width: number, height: number }, required: ['width', 'height'] },
  outputSchema: { type: 'object', properties: { area: number, unit: string }, required: ['area', 'unit'] },
  annotations: { title: 'Area', readOnlyHint: true, openWorldHint: false },
};
const regionTool = {
  name: 'in_region',
  description: 'Says a region that a header repeats',
  inputSchema: {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    required: ['region'],
  },
  annotations: { readOnlyHint: true },
};
const echoTool = {
  name: 'echo',
  description: 'Says it again',
  inputSchema: { type: 'object', properties: { text: string }, required: ['text'] },
  annotations: { readOnlyHint: true },
};

async function listTools(side) {
  const tools = await side.list('tools');
  same(tools.map(tool => tool.name), toolNames);
  const byName = Object.fromEntries(tools.map(tool => [tool.name, tool]));
  same([byName.area, byName.in_region, byName.echo], [areaTool, regionTool, echoTool]);
  same(byName.ask_form.inputSchema, empty);
}

const resources = [
  { uri: 'interop://first', name: 'first', mimeType: 'text/plain' },
  { uri: 'interop://folder', name: 'folder' },
  { uri: 'interop://picture', name: 'picture', mimeType: 'image/png' },
  { uri: 'interop://second', name: 'second', mimeType: 'text/plain' },
  {
    uri: 'interop://text',
    name: 'text',
    title: 'A text',
    description: 'A text with more than ASCII in it',
    mimeType: 'text/plain',
    size: 30,
    annotations: { audience: ['assistant'] },
  },
];
const templates = [
  { uriTemplate: 'interop://files/{+path}', name: 'file' },
  { uriTemplate: 'interop://row1/{cell}', name: 'row1' },
  { uriTemplate: 'interop://row2/{cell}', name: 'row2' },
  { uriTemplate: 'interop://row3/{cell}', name: 'row3' },
  {
    uriTemplate: 'interop://shelf/{shelf}/{book}',
    name: 'book',
    title: 'A book',
    description: 'A book by its shelf and name',
    mimeType: 'application/json',
  },
];
const prompts = [
  { name: 'farewell', description: 'One message', arguments: [] },
  { name: 'greeting', description: 'One message', arguments: [] },
  { name: 'poster', description: 'Shows a picture', arguments: [] },
  {
    name: 'review',
    title: 'Review',
    description: 'Asks for a review',
    arguments: [
      { name: 'code', description: 'What to look at', required: true },
      { name: 'tone', description: 'How to say it', required: false },
    ],
  },
  { name: 'thanks', description: 'One message', arguments: [] },
];

async function pages(side) {
  const sizes = [];
  const first = side.sdk ? await side.page('tools') : await side.client.request({ method: 'tools/list' });
  let page = first;
  for (;;) {
    sizes.push(page.tools.length);
    if (page.nextCursor === undefined) break;
    page = await side.page('tools', page.nextCursor);
  }
  same(sizes, Array(8).fill(3));
  await fails(side.page('tools', 'no such cursor'), -32602);
}

const read = (side, uri) => side.client.readResource({ uri });
const prompt = (side, name, args) => side.client.getPrompt({ name, ...(args ? { arguments: args } : {}) });
const user = content => ({ role: 'user', content });
const complete = (side, ref, name, value, given) =>
  side.client.complete({ ref, argument: { name, value }, ...(given ? { context: { arguments: given } } : {}) });

async function connected(side) {
  if (!side.sdk) same(side.client.getNegotiatedProtocolVersion(), side.modern ? '2026-07-28' : '2025-11-25');
  same(side.client.getServerVersion(), serverInfo);
  same(side.client.getInstructions(), 'Call what you like: nothing here changes anything.');
  const changes = { listChanged: true };
  const common = { tools: changes, resources: { ...changes, subscribe: true }, prompts: changes, completions: {}, logging: {} };
  const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
  same(side.client.getServerCapabilities(), side.modern ? { ...common, ...tasks } : common);
}

async function resumed(side) {
  const gate = newGate();
  const call = side.call('leave', { gate });
  await answers(side.call('advance', { gate }), { content: words('open') });
  await answers(call, { content: words('for who comes back') });
}

async function sessionEnd(side) {
  const url = side.link._url;
  const headers = {
    'mcp-session-id': side.link.sessionId,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  await side.link.terminateSession();
  same(side.link.sessionId, undefined);
  const late = await fetch(url, { method: 'POST', headers, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
  same(late.status, 404);
  await late.text();
}

async function wrongHeader(side) {
  // What the header says and what the arguments say differ: refused before the tool runs.
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': info,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name: 'in_region', arguments: { region: 'Süd' }, _meta: meta };
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
  const reply = await fetch(side.link._url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'in_region',
      'mcp-param-region': 'North',
    },
    body: JSON.stringify(body),
  });
  same([reply.status, (await reply.json()).error.code], [400, -32020]);
}

const cell = (name, run, not) => ({ name, run, not });

export const cells = [
  cell('connect', connected),
  cell('ping', async side => same(await side.client.ping(), {}), modernOnly('no ping in 2026-07-28')),

  cell('list tools', listTools),
  cell('list resources', async side => same(await side.list('resources'), resources)),
  cell('list templates', async side => same(await side.list('resourceTemplates'), templates)),
  cell('list prompts', async side => same(await side.list('prompts'), prompts)),
  cell('pages, bad cursor', pages),

  cell('call: text', side => answers(side.call('echo', { text: 'plain' }), { content: words('plain') })),
  cell('call: unicode', side => answers(side.call('echo', { text: strange }), { content: words(strange) })),
  cell('call: structured', side => answers(side.call('area', { width: 2.5, height: 3 }), structured({ area: 7.5, unit: 'm²' }))),
  ...['9007199254740993', '-9223372036854775808', '18446744073709551615'].map(digits =>
    cell(`call: ${digits}`, side =>
      answers(side.call('exact', { value: raw(digits) }), { content: words(digits), structuredContent: { value: BigInt(digits) } }),
    ),
  ),
  cell('call: nested values', side => {
    const value = { list: [1, 2.5, -0.125, 1e21, true, null, 'x'], inner: { 'naïve key': [] } };
    return answers(side.call('exact', { value }), { content: words(JSON.stringify(value)), structuredContent: { value } });
  }),
  cell('call: all blocks', side =>
    answers(side.call('blocks'), {
      content: [
        { type: 'text', text: 'for the user', annotations: { audience: ['user'], priority: 0.5 } },
        { type: 'image', data: picture, mimeType: 'image/png' },
        { type: 'audio', data: Buffer.from('RIFF').toString('base64'), mimeType: 'audio/wav' },
        { type: 'resource', resource: { uri: 'interop://inside', text: 'a text inside', mimeType: 'text/plain' } },
        { type: 'resource', resource: { uri: 'interop://bytes', blob: picture, mimeType: 'image/png' } },
        { type: 'resource_link', uri: 'interop://text', name: 'text', mimeType: 'text/plain' },
      ],
    }),
  ),
  cell('call: error with image', side =>
    answers(side.call('failing'), {
      content: [
        { type: 'text', text: 'It cannot be drawn: see the picture.' },
        { type: 'image', data: picture, mimeType: 'image/png' },
      ],
      isError: true,
    }),
  ),
  cell('call: who calls', async side => {
    const seen = bare(await side.call('caller', {}, {}, { 'example.com/note': ['ü', 1] }));
    same(seen, {
      content: words('somebody'),
      structuredContent: { revision: side.modern ? '2026-07-28' : '2025-11-25', client: info, capabilities, note: ['ü', 1] },
      _meta: { 'example.com/answer': 42 },
    });
  }),
  cell('call: header parameter', side => answers(side.call('in_region', { region: 'Süd 🎈' }), { content: words('in Süd 🎈') })),
  cell(
    'call: wrong header', wrongHeader,
    side => (side.stdio && 'pipes have no headers') || (side.legacy && 'headers repeat nothing there'),
  ),
  cell('call: 64 at once', atOnce),
  cell('unknown tool', side => fails(side.call('no_such_tool'), -32602)),
  cell('bad arguments', async side => {
    const { content, ...rest } = bare(await side.call('area', { width: 'wide' }));
    same(rest, { isError: true });
    if (!/height/.test(content[0].text)) throw new Mismatch('… height …', content[0].text);
  }),

  cell('progress, in order', steps),
  cell('cancel', cancel),
  cell('logging', logging),

  cell('resource: text', side =>
    answers(read(side, 'interop://text'), {
      contents: [{ uri: 'interop://text', mimeType: 'text/plain', text: 'Grüße aus der Ressource 🎈\n' }],
    }),
  ),
  cell('resource: binary', side =>
    answers(read(side, 'interop://picture'), { contents: [{ uri: 'interop://picture', mimeType: 'image/png', blob: picture }] }),
  ),
  cell('resource: several', side =>
    answers(read(side, 'interop://folder'), {
      contents: [
        { uri: 'interop://folder/1', mimeType: 'text/plain', text: 'one' },
        { uri: 'interop://folder/2', mimeType: 'image/png', blob: picture, _meta: { 'example.com/side': 'b' } },
      ],
    }),
  ),
  cell('resource: template', async side => {
    const uri = 'interop://shelf/g%C3%A4ste/b%20o%3Fk';
    await answers(read(side, uri), { contents: [{ uri, mimeType: 'application/json', text: '{"shelf":"gäste","book":"b o?k"}' }] });
    const slash = 'interop://shelf/guests/a%2Fb';
    await fails(read(side, slash), side.sdk ? -32002 : -32602, { uri: slash });
    const path = 'interop://files/a/b/c.txt';
    await answers(read(side, path), { contents: [{ uri: path, mimeType: 'text/plain', text: 'file a/b/c.txt' }] });
  }),
  cell('resource: unknown', side =>
    // The newer client makes one code of both eras'.
    fails(read(side, 'interop://nowhere'), side.sdk ? -32002 : -32602, { uri: 'interop://nowhere' }),
  ),
  cell('resource: updated', watch),
  cell('changed: tools', listChanged('tools')),
  cell('changed: resources', listChanged('resources')),
  cell('changed: prompts', listChanged('prompts')),

  cell('prompt: plain', side =>
    answers(prompt(side, 'greeting'), { description: 'One message', messages: [user({ type: 'text', text: 'Hello.' })] }),
  ),
  cell('prompt: arguments', side =>
    answers(prompt(side, 'review', { code: 'x = "ü"', tone: 'kind' }), {
      description: 'Asks for a review',
      messages: [
        user({ type: 'text', text: 'Review this: x = "ü"' }),
        { role: 'assistant', content: { type: 'text', text: 'In what tone?' } },
        user({ type: 'text', text: 'kind' }),
      ],
    }),
  ),
  cell('prompt: image', side =>
    answers(prompt(side, 'poster'), {
      description: 'Shows a picture',
      messages: [
        user({ type: 'image', data: picture, mimeType: 'image/png' }),
        user({ type: 'resource', resource: { uri: 'interop://text', text: 'a text inside', mimeType: 'text/plain' } }),
        user({ type: 'text', text: 'What is it?' }),
      ],
    }),
  ),
  cell('prompt: unknown', side => fails(prompt(side, 'no such prompt'), -32602)),
  cell('prompt: missing argument', side => fails(prompt(side, 'review', { tone: 'kind' }), -32602)),

  cell('completion: prompt', async side => {
    const ref = { type: 'ref/prompt', name: 'review' };
    same(bare(await complete(side, ref, 'tone', 'ki')).completion.values, ['ki!', 'no code']);
    same(bare(await complete(side, ref, 'tone', 'ki', { code: 'c' })).completion.values, ['ki!', 'code c']);
    same(bare(await complete(side, ref, 'code', 'x')).completion.values, []);
  }),
  cell('completion: template', async side => {
    const ref = { type: 'ref/resource', uri: 'interop://shelf/{shelf}/{book}' };
    same(bare(await complete(side, ref, 'shelf', 'p')).completion, { values: ['poems', 'plays'], total: 2, hasMore: false });
    same(bare(await complete(side, ref, 'book', '', { shelf: 'maps' })).completion.values, ['of maps']);
  }),
  cell('completion: unknown', side => fails(complete(side, { type: 'ref/prompt', name: 'no such' }, 'a', ''), -32602)),

  cell('ask: accept', form({ action: 'accept', content: { flavour: 'süß', scoops: 2, cone: false } }, {
    action: 'accept',
    content: { flavour: 'süß', scoops: 2, cone: false },
  })),
  cell('ask: decline', form({ action: 'decline' }, { action: 'decline', content: null })),
  cell('ask: cancel', form({ action: 'cancel' }, { action: 'cancel', content: null })),
  cell('ask: twice', twice),
  cell('ask: calls meanwhile', whileAsked),
  cell('ask: sampling', sampling),
  cell('ask: sampling refused', refused),
  cell('ask: roots', roots),

  ...taskCells(newGate),

  cell('stream taken up again', resumed, side => (side.stdio && 'pipes are not taken up again') || (side.modern && noSession)),
  cell('end of the session', sessionEnd, side => (side.stdio && 'it ends with the pipes') || (side.modern && noSession)),
  cell('exit code', async side => same(await side.exitCode(), 0), side => side.http && 'the client did not start the server'),
];
