// Tasks, as @modelcontextprotocol/ext-tasks asks for them over a connection of client2 in the stateless era. (That client
// does not know the answers of tasks, so ext-tasks sends its requests past it: over the same pipes, or by POSTs.)
import { createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';

import { Mismatch, same } from './exact.mjs';
import { capabilities, info } from './sides.mjs';

const protocolVersion = '2026-07-28';
const extension = 'io.modelcontextprotocol/tasks';

const outcome = message => ('error' in message ? { kind: 'error', error: message.error } : { kind: 'result', result: message.result });

/// Requests of its own over the client's pipes.
function overPipes(link) {
  const waiting = new Map();
  const inner = link.onmessage;
  link.onmessage = message => {
    const settle = waiting.get(message.id);
    if (settle === undefined) return inner(message);
    waiting.delete(message.id);
    settle(outcome(message));
  };
  let last = 0;
  return request =>
    new Promise((settle, refuse) => {
      const id = `task request ${++last}`;
      waiting.set(id, settle);
      link.send({ jsonrpc: '2.0', id, ...request }).catch(refuse);
    });
}

function overHttp(url) {
  let last = 0;
  return async (request, options = {}) => {
    const { name } = request.params;
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        ...options.context?.headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': protocolVersion,
        'mcp-method': request.method,
        ...(name === undefined ? {} : { 'mcp-name': name }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++last, ...request }),
      signal: options.signal,
    });
    return outcome(await response.json());
  };
}

/// One for the whole connection; what it is asked is answered by `side.taskAnswer`.
function session(side) {
  side.dispatch ??= side.http ? overHttp(side.link._url) : overPipes(side.link);
  return createTaskSessionFromClient(side.client, {
    endpointId: 'interop',
    rawDispatch: side.dispatch,
    v2RequestFraming: { protocolVersion, clientInfo: info, clientCapabilities: capabilities },
    onInputRequest: request => side.taskAnswer(request),
  });
}

async function within(side, use) {
  const tasks = session(side);
  try {
    await use(tasks);
  } finally {
    await tasks.close();
  }
}

const words = text => [{ type: 'text', text }];
const withoutMeta = ({ _meta, resultType, ...rest }) => rest;

async function open(side, gate) {
  same(withoutMeta(await side.call('advance', { gate })), { content: words('open') });
}
async function opened(side, gate) {
  same(withoutMeta(await side.call('await', { gate })), { content: words('open') });
}

const done = gate => ({ content: words('the work is done'), structuredContent: { gate, count: 90071992547 } });

export function taskCells(newGate) {
  const result = side =>
    within(side, async tasks => {
      const gate = newGate();
      const execution = await tasks.callTool('job', { gate });
      same(execution.kind, 'task');
      const before = await tasks.task(execution.handle.taskId).snapshot();
      same(before.status, 'working');
      for (const when of [before.createdAt, before.lastUpdatedAt]) {
        if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(when)) throw new Mismatch('a time', String(when));
      }
      await open(side, gate);
      const { outcome } = await execution.settle();
      same(withoutMeta(resultFromTaskOutcome(outcome)), done(gate));
      same((await tasks.task(execution.handle.taskId).snapshot()).status, 'completed');
    });

  const cancel = side =>
    within(side, async tasks => {
      const gate = newGate();
      const execution = await tasks.callTool('job', { gate });
      await opened(side, `begun ${gate}`);
      await execution.cancel();
      await opened(side, `noticed ${gate}`);
      same((await execution.settle()).outcome.status, 'cancelled');
    });

  const input = answer => side =>
    within(side, async tasks => {
      const gate = newGate();
      const asked = [];
      side.taskAnswer = async request => {
        const { message, requestedSchema } = request.params;
        asked.push({ kind: request.kind, message, requestedSchema });
        return answer;
      };
      const execution = await tasks.callTool('asking_job', { gate });
      same(execution.kind, 'task');
      await open(side, gate);
      const { outcome } = await execution.settle();
      const told = { action: answer.action, content: answer.content ?? null };
      same(withoutMeta(resultFromTaskOutcome(outcome)), { content: words(JSON.stringify(told)), structuredContent: told });
      const requestedSchema = { type: 'object', properties: { sure: { type: 'boolean' } }, required: ['sure'] };
      same(asked, [{ kind: 'elicitation', message: 'Go on?', requestedSchema }]);
    });

  const failing = side =>
    within(side, async tasks => {
      const gate = newGate();
      const execution = await tasks.callTool('failing_job', { gate });
      await open(side, gate);
      const { outcome } = await execution.settle();
      same(outcome.status, 'completed');
      same(withoutMeta(resultFromTaskOutcome(outcome)), { content: words('The work has failed.'), isError: true });
    });

  const broken = side =>
    within(side, async tasks => {
      const gate = newGate();
      const execution = await tasks.callTool('broken_job', { gate });
      await open(side, gate);
      const { outcome } = await execution.settle();
      same(outcome.status, 'failed');
      const { code, message, data } = outcome.error.error ?? outcome.error.cause ?? outcome.error;
      same({ code, message, data }, { code: -32050, message: 'The works are shut.', data: { until: 7 } });
    });

  const later = side =>
    within(side, async tasks => {
      const gate = newGate();
      const execution = await tasks.callTool('job', { gate });
      const reference = execution.serializeReference();
      await execution.detach();
      await open(side, gate);
      const again = await tasks.resumeTask(reference);
      same(withoutMeta(resultFromTaskOutcome((await again.settle()).outcome)), done(gate));
    });

  const immediate = side =>
    within(side, async tasks => {
      const execution = await tasks.callTool('echo', { text: 'at once' });
      same(execution.kind, 'immediate');
      same(withoutMeta(resultFromTaskOutcome((await execution.settle()).outcome)), { content: words('at once') });
    });

  const unknown = side =>
    within(side, async tasks => {
      let seen;
      try {
        seen = await tasks.task('no such task').snapshot();
      } catch (error) {
        same(error.code, -32602, error.message);
        return;
      }
      throw new Mismatch('error -32602', seen);
    });

  // A client that does not say that it knows tasks.
  const required = async side => {
    let seen;
    try {
      seen = await side.call('failing_job', { gate: newGate() });
    } catch (error) {
      same([error.code, error.data], [-32021, { requiredCapabilities: { extensions: { [extension]: {} } } }]);
      return;
    }
    throw new Mismatch('error -32021', seen);
  };
  const plain = async side => {
    const gate = newGate();
    const call = side.call('job', { gate });
    await open(side, gate);
    same(withoutMeta(await call), done(gate));
  };

  const not = side => (side.sdk || side.legacy) && 'tasks are those of 2026-07-28';
  const cell = (name, run) => ({ name: `task: ${name}`, run, not });
  return [
    cell('result', result),
    cell('cancel', cancel),
    cell('input, accept', input({ action: 'accept', content: { sure: true } })),
    cell('input, decline', input({ action: 'decline' })),
    cell('failed tool', failing),
    cell('error of the protocol', broken),
    cell('found again', later),
    cell('answer at once', immediate),
    cell('unknown', unknown),
    cell('needs the extension', required),
    { name: 'a task tool, called plainly', run: plain },
  ];
}
