// The line protocol with the C++ driver: one request line, one answer line, in order.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export class Driver {
  constructor(path) {
    this.child = spawn(path, [], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.waiting = [];
    this.dead = null;
    this.child.on('error', (error) => this.fail(`The driver ${path} does not start: ${error.message}.`));
    this.child.on('close', (code, signal) => {
      if (this.waiting.length > 0 || code !== 0)
        this.fail(`The driver ended early (exit ${code}, signal ${signal}).`);
    });
    this.child.stdin.on('error', () => {});
    createInterface({ input: this.child.stdout }).on('line', (line) =>
      this.waiting.shift().resolve(JSON.parse(line)),
    );
  }

  fail(message) {
    this.dead ??= new Error(message);
    for (const { reject } of this.waiting.splice(0)) reject(this.dead);
  }

  /// `schemaText` goes out as it is written, spelling included.
  ask(schemaText, dialect, format, instances) {
    if (this.dead) return Promise.reject(this.dead);
    const rest = JSON.stringify({ dialect, format, instances }).slice(1);
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      this.child.stdin.write(`{"schema":${schemaText.replaceAll('\n', ' ')},${rest}\n`);
    });
  }

  close() {
    this.child.stdin.end();
  }
}
