// Our side of the benchmark: a child process that answers one line for each line. It idles while ajv is measured,
// and this process idles while it works.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export class OurSide {
  constructor(path) {
    this.child = spawn(path, [], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.waiting = null;
    const fail = (message) => {
      this.dead ??= new Error(message);
      this.waiting?.reject(this.dead);
    };
    this.child.on('error', (error) => fail(`${path} does not start: ${error.message}.`));
    this.child.on('close', (code) => fail(`${path} ended (exit ${code}).`));
    this.child.stdin.on('error', () => {});
    createInterface({ input: this.child.stdout }).on('line', (line) =>
      this.waiting.resolve(JSON.parse(line)),
    );
  }

  ask(request) {
    if (this.dead) return Promise.reject(this.dead);
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
      this.child.stdin.write(`${JSON.stringify(request)}\n`);
    });
  }

  async load({ name, schema, valid, invalid }) {
    return (await this.ask({ op: 'load', name, schema, valid, invalid })).verdicts;
  }

  async measure(name, what, set, ms) {
    return (await this.ask({ op: 'measure', case: name, what, set, ms })).ns;
  }

  close() {
    this.waiting = null;
    this.child.stdin.end();
  }
}
