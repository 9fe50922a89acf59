// A tool call through all ten stages, beside the peers, in one run. Usage:
//   PEERS_DIR=… node bench.mjs CALL_BENCH [INPROC]
// INPROC is the program of ../shared/peer-bench/c/inproc.cpp, against which our own floor is checked.
// Environment: ROUNDS (15), SLICE_MS (150).
import { execFileSync, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { loadPeers } from './peers.mjs';

const whole = (name, otherwise) => {
  const value = Number(process.env[name] ?? otherwise);
  if (!Number.isInteger(value) || value < 1) {
    console.error(`${name} must be a positive whole number.`);
    process.exit(2);
  }
  return value;
};
const [benchPath, inprocPath] = process.argv.slice(2);
if (!benchPath) {
  console.error('Usage: node bench.mjs CALL_BENCH [INPROC]');
  process.exit(2);
}
const rounds = whole('ROUNDS', 15);
const sliceMs = whole('SLICE_MS', 150);

class OurSide {
  constructor(path) {
    this.child = spawn(path, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.child.on('exit', (code) => {
      if (code !== 0) {
        console.error(`bench: ${path} ended with code ${code}`);
        process.exit(1);
      }
    });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }
  async slice(mode, ms) {
    this.child.stdin.write(`${mode} ${Math.round(ms)}\n`);
    const [calls, ns] = (await this.lines.next()).value.split(' ').map(Number);
    return ns / calls / 1000;
  }
  end() {
    this.child.stdin.end();
  }
}

async function peerSlice(call, ms) {
  const begin = process.hrtime.bigint();
  const end = begin + BigInt(ms) * 1_000_000n;
  let calls = 0;
  let now = begin;
  while (now < end) {
    for (let i = 0; i < 20; i += 1) await call();
    calls += 20;
    now = process.hrtime.bigint();
  }
  return Number(now - begin) / calls / 1000;
}

// The reference program takes its own medians of five.
function inprocMicroseconds(path) {
  const line = execFileSync(path, { encoding: 'utf8' })
    .split('\n')
    .find((text) => text.includes('Boost.JSON arena'));
  return JSON.parse(line).us;
}

const median = (list) => {
  const sorted = [...list].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};
const spread = (list) => (100 * (Math.max(...list) - Math.min(...list))) / median(list);
const ratio = (above, below) => median(above.map((value, i) => value / below[i]));

const OURS = ['floor', 'inline', 'silent', 'batch', 'pooled'];
const peers = await loadPeers();
const us = Object.fromEntries([...OURS, ...Object.keys(peers), 'inproc'].map((name) => [name, []]));

for (const call of Object.values(peers)) await peerSlice(call, 4 * sliceMs);
for (let round = 1; round <= rounds; round += 1) {
  process.stderr.write(`\rround ${round} of ${rounds}`);
  // A new process each round: where the system loads it changes what it costs.
  const ours = new OurSide(benchPath);
  for (const mode of OURS) await ours.slice(mode, sliceMs / 3);
  for (const mode of OURS) us[mode].push(await ours.slice(mode, sliceMs));
  ours.end();
  if (inprocPath) us.inproc.push(inprocMicroseconds(inprocPath));
  for (const [name, call] of Object.entries(peers)) us[name].push(await peerSlice(call, sliceMs));
}
process.stderr.write('\r                    \r');

const WHAT = {
  floor: 'parse, validate, call, serialise: our floor',
  inline: 'all ten stages, inline tool, every event taken',
  silent: 'all ten stages, inline tool, nobody watching',
  batch: 'all ten stages, in batches of 100',
  pooled: 'all ten stages, tool on the pool',
  langgraph: 'LangGraph ToolNode',
  openai_invoke: 'OpenAI Agents tool.invoke',
  ai_sdk: 'Vercel AI SDK generateText, one step',
  mcp_inmemory: 'MCP TypeScript SDK, in memory',
  inproc: 'reference floor (Boost.JSON arena)',
};
console.log('one call of add(1, 2), JSON text in, JSON text out\n');
console.log('what                                                  µs/call   spread   vs ours');
for (const [name, list] of Object.entries(us)) {
  if (list.length === 0) continue;
  console.log(
    `${WHAT[name].padEnd(50)} ${median(list).toFixed(2).padStart(10)} ${spread(list).toFixed(0).padStart(7)}% ` +
      `${ratio(list, us.inline).toFixed(2).padStart(9)}`,
  );
}
const floorRatio = ratio(us.inline, us.floor);
console.log(`\nours ÷ floor: ${floorRatio.toFixed(2)} (at most 2)`);
if (us.inproc.length > 0) {
  console.log(`our floor ÷ reference floor: ${ratio(us.floor, us.inproc).toFixed(2)} (at most 1.3)`);
} else {
  console.log('our floor ÷ reference floor: skipped, ../shared/peer-bench/c/inproc.cpp is not here');
}
const fields = {
  call_inline_us: median(us.inline).toFixed(3),
  floor_us: median(us.floor).toFixed(3),
  vs_floor: floorRatio.toFixed(2),
  floor_vs_reference: us.inproc.length > 0 ? ratio(us.floor, us.inproc).toFixed(2) : 'skipped',
  vs_langgraph: ratio(us.langgraph, us.inline).toFixed(1),
  vs_openai_invoke: ratio(us.openai_invoke, us.inline).toFixed(1),
  vs_ai_sdk: ratio(us.ai_sdk, us.inline).toFixed(1),
  vs_mcp_inmemory: ratio(us.mcp_inmemory, us.inline).toFixed(1),
  batch100_per_call_ratio: ratio(us.batch, us.inline).toFixed(2),
  pooled_us: median(us.pooled).toFixed(1),
  silent_us: median(us.silent).toFixed(3),
  noise_pct: spread(us.inline).toFixed(0),
};
console.log('RESULT ' + Object.entries(fields).map(([key, value]) => `${key}=${value}`).join(' '));
process.exit(0);
