// transcripts.mjs SERVER PEER…: what each revision of MCP says, line by line, to our server and to one made with npm's SDK that
// offers the same (peer.mjs); the answers are compared member by member. A line of JSON for each step.
// transcripts.mjs --plan: the steps of each revision, as JSON.
//
// Message and data of an error and what is opaque (cursors, states, the ids of a server's own requests) may differ
// everywhere. All else that differs is in `allowed`, with its reason; what is allowed and does not differ is a failure too.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

import { text } from './exact.mjs';

const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'];
const info = { name: 'interop-client', version: '4.5.6' };
const limit = 30_000;

const since = year => revision => revision >= year;
const legacy = revision => revision < '2026';
const modern = revision => revision >= '2026';
const anyRevision = () => true;

// What may differ: why, in which revision, in which step, and at which members: a regular expression for the path below
// the message. The legacy peer is the SDK's first server, the modern one its second.
const before = year => revision => revision < year;
const allowed = [
  // Theirs says the same in every revision.
  ['title and icons came with 2025-06-18', before('2025-06-18'), /^initialize$|list$/, /(serverInfo|\.\w+)\.title$/],
  ['the capability came with 2025-03-26', before('2025-03-26'), /^initialize$/, /\.completions$/],
  ['what tools do and give came with later revisions', before('2025-03-26'), /^tools\/list$/, /\.annotations$/],
  ['output schemas came with 2025-06-18', before('2025-06-18'), /^tools\/list$/, /\.outputSchema$/],
  ['structured content came with 2025-06-18', before('2025-06-18'), /^call: structured$|^ask/, /\.structuredContent$/],
  ['audio came with 2025-03-26', before('2025-03-26'), /^call: blocks$/, /\.content\.2\.\w+$/],
  ['links came with 2025-06-18', before('2025-06-18'), /^call: blocks$/, /\.content\.5\.\w+$/],
  ['texts of progress came with 2025-03-26', before('2025-03-26'), /^progress$|^cancel$/, /^params\.message$/],
  ['modes of elicitation came with 2025-11-25', before('2025-11-25'), /^ask: form$/, /^params\.mode$/],
  // Theirs is not what the specification says.
  ['an unknown tool is an error of the protocol', legacy, /^unknown tool$/, /^(error|result)$/],
  ['bad arguments were an error of the protocol before 2025-11-25', before('2025-11-25'), /^bad arguments$/, /^(error|result)$/],
  ['bad parameters are -32602', legacy, /^call without a name$|^bad log level$/, /^error\.code$/],
  ['a resource that is not there was -32002', legacy, /^read: unknown$/, /^error\.code$/],
  ['every request says its revision', modern, /^unknown revision$/, /^(error|result)$/],
  // Both are.
  ['only our server has tasks', modern, /^discover$/, /\.capabilities\.extensions$/],
  ['texts for models', since('2025-11-25'), /^bad arguments$/, /\.content\.0\.text$/],
  ['our contracts say which tools only read', since('2025-03-26'), /^tools\/list$/, /\.annotations$/],
  ['their schemas are written by zod', anyRevision, /^tools\/list$/, /Schema\.(\$schema|additionalProperties)$/],
  ['they say that no tool is a task', legacy, /^tools\/list$/, /\.execution$/],
  ['no arguments may be an empty list', anyRevision, /^prompts\/list$/, /\.arguments$/],
  ['parameters without a member may be left out', legacy, /^ask: roots$/, /^params$/],
  ['a call that waits for an answer has a state, or none', modern, /^ask: form$/, /\.requestState$/],
];

class Peer {
  #waiting;
  #seen = [];
  constructor(command, args, revision) {
    this.revision = revision;
    this.child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: this.child.stdout }).on('line', line => {
      this.#seen.push(JSON.parse(line));
      this.#waiting?.();
    });
    this.child.on('exit', () => this.#waiting?.());
  }
  send(message) {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
  /// So many messages; fewer if no more come in time.
  async take(count) {
    const late = setTimeout(() => this.#waiting?.(true), limit);
    while (this.#seen.length < count && this.child.exitCode === null) {
      if (await new Promise(look => (this.#waiting = look))) break;
    }
    clearTimeout(late);
    return this.#seen.splice(0, count);
  }
  close() {
    this.child.stdin.end();
    this.child.kill();
  }
}

/// Names of members whose values are opaque, or for people.
const opaque = new Set(['requestState', 'nextCursor']);

function differences(ours, theirs, path = '') {
  if (text(ours) === text(theirs)) return [];
  const bothObjects = [ours, theirs].every(one => one !== null && typeof one === 'object');
  if (!bothObjects || Array.isArray(ours) !== Array.isArray(theirs)) return [{ path, ours, theirs }];
  return [...new Set([...Object.keys(ours), ...Object.keys(theirs)])].flatMap(key => {
    const below = path === '' ? key : `${path}.${key}`;
    if (opaque.has(key) && typeof ours[key] === typeof theirs[key]) return [];
    if (below.endsWith('error.message') || below.endsWith('error.data')) return [];
    return differences(ours[key], theirs[key], below);
  });
}

/// Lists have the entries that both offer, by name; a message has its place by what it answers.
function comparable(messages, shared) {
  const named = list => Object.fromEntries(list.filter(one => shared.has(one.name)).map(one => [one.name, one]));
  return Object.fromEntries(
    messages.map((message, index) => {
      const { jsonrpc, id, ...rest } = structuredClone(message);
      for (const what of ['tools', 'resources', 'resourceTemplates', 'prompts']) {
        if (Array.isArray(rest.result?.[what])) rest.result[what] = named(rest.result[what]);
      }
      if (rest.method === undefined) return [`answer ${id}`, rest];
      const place = rest.params?.progress ?? (id === undefined ? index : '');
      return [`${rest.method} ${place}`, { asks: id !== undefined, ...rest }];
    }),
  );
}

const shared = new Set([
  'echo', 'area', 'blocks', 'failing', 'speak', 'advance', 'steps', 'hold', 'ask_form', 'ask_model', 'ask_roots', 'touch',
  'text', 'picture', 'book', 'greeting', 'review',
]);

const meta = (revision, more = {}) => ({
  'io.modelcontextprotocol/protocolVersion': revision,
  'io.modelcontextprotocol/clientInfo': info,
  'io.modelcontextprotocol/clientCapabilities': { sampling: {}, elicitation: { form: {} }, roots: {} },
  ...more,
});

/// A step: requests of this revision, each with how many messages are to come of it.
const request = (method, params, id, extra) => revision => {
  const _meta = modern(revision) ? meta(revision, extra) : extra;
  return { id, method, params: _meta ? { ...params, _meta } : params };
};
const call = (name, args, id, extra) => request('tools/call', { name, arguments: args }, id, extra);
const one = (method, params = {}) => [[request(method, params, 1), 1]];
const tool = (name, args = {}) => [[call(name, args, 1), 1]];
const steps = [
  ['initialize', legacy, [[revision => ({
    id: 0,
    method: 'initialize',
    params: {
      protocolVersion: revision,
      capabilities: { sampling: {}, roots: {}, ...(revision >= '2025-06-18' ? { elicitation: {} } : {}) },
      clientInfo: info,
    },
  }), 1], [() => ({ method: 'notifications/initialized' }), 0]]],
  ['discover', modern, one('server/discover')],
  ['ping', anyRevision, one('ping')],
  ['unknown method', anyRevision, one('no/such/method')],
  ['tools/list', anyRevision, one('tools/list')],
  ['call: text', anyRevision, tool('echo', { text: 'Grüße 🎈' })],
  ['call: structured', anyRevision, tool('area', { width: 2.5, height: 3 })],
  ['call: blocks', anyRevision, tool('blocks')],
  ['call: error', anyRevision, tool('failing')],
  ['unknown tool', anyRevision, tool('no_such_tool')],
  ['bad arguments', anyRevision, tool('area', { width: 'wide', height: 1 })],
  ['call without a name', anyRevision, one('tools/call', { arguments: {} })],
  ['progress', anyRevision, [
    [call('steps', { gate: 'p' }, 1, { progressToken: 'token' }), 1],
    ...[2, 3, 4, 5, 6].map(id => [call('advance', { gate: 'p' }, id), 2]),
  ]],
  ['cancel', anyRevision, [
    [call('hold', { gate: 'c' }, 1, { progressToken: 7 }), 1],
    [() => ({ method: 'notifications/cancelled', params: { requestId: 1, reason: 'not needed' } }), 0],
    [call('echo', { text: 'after' }, 2), 1],
  ]],
  ['resources/list', anyRevision, one('resources/list')],
  ['templates/list', anyRevision, one('resources/templates/list')],
  ['read: text', anyRevision, one('resources/read', { uri: 'interop://text' })],
  ['read: binary', anyRevision, one('resources/read', { uri: 'interop://picture' })],
  ['read: template', anyRevision, one('resources/read', { uri: 'interop://shelf/maps/atlas' })],
  ['read: unknown', anyRevision, one('resources/read', { uri: 'interop://nowhere' })],
  ['prompts/list', anyRevision, one('prompts/list')],
  ['prompt', anyRevision, one('prompts/get', { name: 'review', arguments: { code: 'x', tone: 'kind' } })],
  ['unknown prompt', anyRevision, one('prompts/get', { name: 'no such prompt' })],
  ['prompt: missing argument', anyRevision, one('prompts/get', { name: 'review', arguments: {} })],
  ['completion: prompt', anyRevision, one('completion/complete', {
    ref: { type: 'ref/prompt', name: 'review' },
    argument: { name: 'tone', value: 'ki' },
  })],
  ['completion: template', anyRevision, one('completion/complete', {
    ref: { type: 'ref/resource', uri: 'interop://shelf/{shelf}/{book}' },
    argument: { name: 'shelf', value: 'p' },
  })],
  ['logging', legacy, [[request('logging/setLevel', { level: 'warning' }, 1), 1], [call('speak', {}, 2), 3]]],
  ['logging', modern, [[call('speak', {}, 1, { 'io.modelcontextprotocol/logLevel': 'warning' }), 3]]],
  ['bad log level', legacy, one('logging/setLevel', { level: 'loud' })],
  ['subscribe', legacy, [
    [request('resources/subscribe', { uri: 'interop://text' }, 1), 1],
    [call('touch', { uri: 'interop://text' }, 2), 2],
    [request('resources/unsubscribe', { uri: 'interop://text' }, 3), 1],
  ]],
  ['ask: sampling', legacy, [
    [call('ask_model', { prompt: 'Say it.' }, 1), 1],
    [(_, seen) => ({
      id: seen.at(-1).id,
      result: { role: 'assistant', content: { type: 'text', text: 'It.' }, model: 'm', stopReason: 'endTurn' },
    }), 1],
  ]],
  ['ask: roots', legacy, [
    [call('ask_roots', {}, 1), 1],
    [(_, seen) => ({ id: seen.at(-1).id, result: { roots: [{ uri: 'file:///tmp', name: 'tmp' }] } }), 1],
  ]],
  ['ask: form', revision => legacy(revision) && since('2025-06-18')(revision), [
    [call('ask_form', {}, 1), 1],
    [(_, seen) => ({ id: seen.at(-1).id, result: { action: 'accept', content: { flavour: 'plain', scoops: 1 } } }), 1],
  ]],
  ['ask: form', modern, [
    [call('ask_form', {}, 1), 1],
    [(revision, seen) => {
      const { inputRequests, requestState } = seen.at(-1).result;
      const [name] = Object.keys(inputRequests);
      const answers = { [name]: { action: 'accept', content: { flavour: 'plain', scoops: 1 } } };
      const again = { name: 'ask_form', arguments: {}, inputResponses: answers, ...(requestState ? { requestState } : {}) };
      return request('tools/call', again, 2)(revision);
    }, 1],
  ]],
  ['no envelope', modern, [[revision => ({
    id: 1,
    method: 'tools/list',
    params: { _meta: { 'io.modelcontextprotocol/protocolVersion': revision } },
  }), 1]]],
  ['unknown revision', modern, [[() => ({ id: 1, method: 'tools/list', params: { _meta: meta('2099-01-01') } }), 1]]],
  ['initialize of the other era', modern, one('initialize')],
  ['listen', modern, [
    [request('subscriptions/listen', { notifications: { resourceSubscriptions: ['interop://text'] } }, 'l'), 1],
    [call('touch', { uri: 'interop://text' }, 2), 2],
    [() => ({ method: 'notifications/cancelled', params: { requestId: 'l' } }), 0],
    [call('echo', { text: 'after' }, 3), 1],
  ]],
];

async function play(peer, rounds) {
  const seen = [];
  for (const [make, count] of rounds) {
    peer.send(make(peer.revision, seen));
    seen.push(...(await peer.take(count)));
  }
  return seen;
}

async function compare(revision, server, peerCommand, used) {
  const ours = new Peer(server, ['--stdio', '--page-size', '1000'], revision);
  const theirs = new Peer(peerCommand[0], [...peerCommand.slice(1), modern(revision) ? 'modern' : 'legacy'], revision);
  for (const [name, when, rounds] of steps) {
    if (!when(revision)) continue;
    const report = { cell: name, column: revision, ok: true };
    try {
      const [mine, peers] = await Promise.all([play(ours, rounds), play(theirs, rounds)]);
      const all = differences(comparable(mine, shared), comparable(peers, shared));
      const left = all.filter(({ path }) => {
        const below = path.replace(/^(answer \w+|[^.]* \d*)\./, '');
        const index = allowed.findIndex(([, who, step, where]) => who(revision) && step.test(name) && where.test(below));
        if (index >= 0) used.add(index);
        return index < 0;
      });
      if (left.length > 0) {
        const side = which => left.map(one => `${one.path}: ${text(one[which])}`).join('\n            ');
        Object.assign(report, { ok: false, why: 'our answer is not the peer\'s', expected: side('theirs'), seen: side('ours') });
      }
    } catch (error) {
      Object.assign(report, { ok: false, why: `${error.name}: ${error.message}`, where: error.stack.split('\n')[1].trim() });
    }
    console.log(JSON.stringify(report));
  }
  ours.close();
  theirs.close();
}

const planned = revision => steps.filter(([, when]) => when(revision)).map(([name]) => name);
const last = 'allowed differences are there';

if (process.argv[2] === '--plan') {
  const cells = revision => [...planned(revision), ...(modern(revision) ? [last] : [])];
  console.log(JSON.stringify(revisions.map(revision => ({ column: revision, cells: cells(revision) }))));
} else {
  const used = new Set();
  const [server, ...peer] = process.argv.slice(2);
  for (const revision of revisions) await compare(revision, server, peer, used);
  const stale = allowed.filter((_, index) => !used.has(index)).map(([why]) => why);
  const why = `no such difference: ${stale.join('; ')}`;
  console.log(JSON.stringify({ cell: last, column: revisions.at(-1), ok: stale.length === 0, why }));
  process.exit(0);
}
