// The clients under trial, each behind one face: a Side is a client that is connected to our server.
//
// sdk1            @modelcontextprotocol/sdk 1.x, which knows sessions only
// client2-legacy  @modelcontextprotocol/client 2.x with initialize
// client2-modern  the same, pinned to 2026-07-28
import { once } from 'node:events';

import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types1 from '@modelcontextprotocol/sdk/types.js';

export const info = { name: 'interop-client', version: '4.5.6' };
export const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: { form: {} } };

const requests = {
  'elicitation/create': types1.ElicitRequestSchema,
  'sampling/createMessage': types1.CreateMessageRequestSchema,
  'roots/list': types1.ListRootsRequestSchema,
};
const notifications = {
  'notifications/message': types1.LoggingMessageNotificationSchema,
  'notifications/resources/updated': types1.ResourceUpdatedNotificationSchema,
  'notifications/tools/list_changed': types1.ToolListChangedNotificationSchema,
  'notifications/resources/list_changed': types1.ResourceListChangedNotificationSchema,
  'notifications/prompts/list_changed': types1.PromptListChangedNotificationSchema,
};
const lists = {
  tools: 'listTools',
  resources: 'listResources',
  resourceTemplates: 'listResourceTemplates',
  prompts: 'listPrompts',
};

/// What arrives, to be waited for.
class Arrivals {
  #all = [];
  #waiting = [];
  add(one) {
    this.#all.push(one);
    for (const look of this.#waiting.splice(0)) look();
  }
  /// The first so many, once they are there; they are taken out.
  async take(count) {
    while (this.#all.length < count) await new Promise(look => this.#waiting.push(look));
    return this.#all.splice(0, count);
  }
  clear() {
    this.#all.length = 0;
  }
}

export class Side {
  constructor(name, transport) {
    this.name = name;
    this.transport = transport;
    this.modern = name === 'client2-modern';
    this.legacy = !this.modern;
    this.http = transport === 'http';
    this.stdio = transport === 'stdio';
    this.sdk = name === 'sdk1';
    /// Answers to the server's questions, by method; a cell puts its own there.
    this.answers = {};
    this.asked = [];
    this.arrived = Object.fromEntries(Object.keys(notifications).map(method => [method, new Arrivals()]));
  }

  async connect({ server, url }) {
    const [Client, Stdio, Http] = this.sdk ? [Client1, Stdio1, Http1] : [Client2, Stdio2, Http2];
    const options = { capabilities };
    if (!this.sdk) options.versionNegotiation = { mode: this.modern ? { pin: '2026-07-28' } : 'legacy' };
    this.client = new Client(info, options);
    this.link = this.http ? new Http(new URL(url)) : new Stdio({ command: server, args: ['--stdio'], stderr: 'inherit' });
    for (const method of Object.keys(requests)) {
      this.client.setRequestHandler(this.sdk ? requests[method] : method, request => {
        this.asked.push({ method, params: request.params });
        return this.answers[method](request.params);
      });
    }
    for (const method of Object.keys(notifications)) {
      this.client.setNotificationHandler(this.sdk ? notifications[method] : method, one => {
        this.arrived[method].add(one.params ?? {});
      });
    }
    await this.client.connect(this.link);
    return this;
  }

  page(what, cursor) {
    return this.client[lists[what]]({ cursor });
  }
  /// All pages, followed as the protocol says.
  async list(what) {
    const all = [];
    let cursor;
    do {
      const page = cursor === undefined ? await this.firstPage(what) : await this.page(what, cursor);
      all.push(...page[what]);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return all;
  }
  /// Without a cursor the newer client puts all pages together itself.
  firstPage(what) {
    return this.client[lists[what]]();
  }
  call(name, args = {}, options = {}, meta) {
    const params = { name, arguments: args, ...(meta ? { _meta: meta } : {}) };
    return this.sdk ? this.client.callTool(params, undefined, options) : this.client.callTool(params, options);
  }
  /// The code of the process on the other end of the pipes, when it has ended.
  async exitCode() {
    const child = this.link._process;
    const ended = once(child, 'exit');
    await this.client.close();
    return (await ended)[0];
  }
}
