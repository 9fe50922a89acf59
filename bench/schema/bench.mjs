// JSON text in, verdict out: our engine and ajv on the same tools, in the same run. Usage:
//   NODE_MODULES_DIR=… node bench.mjs SCHEMA_BENCH
// Environment: ROUNDS (7), SLICE_MS (40), CASES (only those whose name contains this).

import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AjvCase, ajvVersion } from './ajv_side.mjs';
import { OurSide } from './our_side.mjs';

const whole = (name, otherwise) => {
  const value = Number(process.env[name] ?? otherwise);
  if (!Number.isInteger(value) || value < 1) {
    console.error(`${name} must be a positive whole number.`);
    process.exit(2);
  }
  return value;
};
const [benchPath] = process.argv.slice(2);
if (!benchPath) {
  console.error('Usage: node bench.mjs SCHEMA_BENCH');
  process.exit(2);
}
const rounds = whole('ROUNDS', 7);
const sliceMs = whole('SLICE_MS', 40);
const WARM_MS = 120;

// [key, what ours does, what ajv does, set]; ajv's time is shared by the keys that compare with the same work.
const SLICES = [
  { key: 'value', ours: ['value', 'all'], ajv: ['value', 'all'] },
  { key: 'value_valid', ours: ['value', 'valid'], ajv: ['value', 'valid'] },
  { key: 'value_invalid', ours: ['value', 'invalid'], ajv: ['value', 'invalid'] },
  { key: 'text', ours: ['text', 'all'], ajv: 'value' },
  { key: 'text_valid', ours: ['text', 'valid'], ajv: 'value_valid' },
  { key: 'text_invalid', ours: ['text', 'invalid'], ajv: 'value_invalid' },
  { key: 'parse', ours: ['parse', 'all'], ajv: ['parse', 'all'] },
  { key: 'validate', ours: ['validate', 'all'], ajv: ['validate', 'all'] },
  { key: 'compile', ours: ['compile', 'all'], ajv: ['compile', 'all'] },
];

function readCases() {
  const folder = join(dirname(fileURLToPath(import.meta.url)), 'cases');
  const wanted = process.env.CASES ?? '';
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json') && name.includes(wanted))
    .sort()
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')));
}

const median = (list) => {
  const sorted = [...list].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};
const spread = (list) => (100 * (Math.max(...list) - Math.min(...list))) / median(list);

// Both sides must say what the case file says before anything is measured.
async function load(definition, ours) {
  const ajv = new AjvCase(definition);
  const ourVerdicts = await ours.load(definition);
  for (const [set, expected, mine] of [
    ['valid', true, ourVerdicts[0]],
    ['invalid', false, ourVerdicts[1]],
  ]) {
    definition[set].forEach((text, i) => {
      if (ajv.verdict(text) !== expected || mine[i] !== expected) {
        throw new Error(
          `${definition.name}: ${set}[${i}] is judged ${mine[i]} by us and ${ajv.verdict(text)} by ajv: ${text.slice(0, 200)}`,
        );
      }
    });
  }
  const times = Object.fromEntries(SLICES.map(({ key }) => [key, { ours: [], ajv: [] }]));
  return { name: definition.name, ajv, times };
}

async function measureRound(one, ours, ms, keep) {
  const ajvTimes = {};
  for (const {
    key,
    ours: [what, set],
    ajv,
  } of SLICES) {
    ajvTimes[key] = Array.isArray(ajv) ? one.ajv.measure(...ajv, ms) : ajvTimes[ajv];
    const mine = await ours.measure(one.name, what, set, ms);
    if (!keep) continue;
    one.times[key].ajv.push(ajvTimes[key]);
    one.times[key].ours.push(mine);
  }
}

// Rounds alternate between the two, so that a ratio is taken between neighbours in time.
const ratio = ({ ours, ajv }) => median(ours.map((ns, i) => ajv[i] / ns));

const ns = (value) =>
  value >= 1e6
    ? `${(value / 1e6).toFixed(2)} ms`
    : value >= 1e4
      ? `${(value / 1e3).toFixed(1)} µs`
      : `${value.toFixed(0)} ns`;

function table(title, header, rows) {
  const widths = header.map((h, i) => Math.max(h.length, ...rows.map((r) => r[i].length)));
  const line = (cells) =>
    cells.map((c, i) => (i === 0 ? c.padEnd(widths[i]) : c.padStart(widths[i]))).join('  ');
  console.log(`\n${title}`);
  console.log(line(header));
  for (const row of rows) console.log(line(row));
}

const range = (list) => `${ns(Math.min(...list))}–${ns(Math.max(...list))}`;

function report(cases) {
  const cell = (one, key) => [
    ns(median(one.times[key].ajv)),
    ns(median(one.times[key].ours)),
    ratio(one.times[key]).toFixed(2),
  ];
  const short = (one, key) => ratio(one.times[key]).toFixed(2);
  table(
    'JSON text in, verdict out, per text (value: accept, which builds the Value of a valid text; text: check_text); × = ajv / ours',
    ['case', 'ajv', 'value', '×', 'text', '×', 'valid ×', 'invalid ×', 'ajv min–max', 'value min–max'],
    cases.map((one) => [
      one.name,
      ...cell(one, 'value'),
      ...cell(one, 'text').slice(1),
      short(one, 'value_valid'),
      short(one, 'value_invalid'),
      range(one.times.value.ajv),
      range(one.times.value.ours),
    ]),
  );
  table(
    'the parts',
    ['case', 'parse: ajv', 'ours', '×', 'validate: ajv', 'ours', '×', 'compile: ajv', 'ours', '×'],
    cases.map((one) => [one.name, ...cell(one, 'parse'), ...cell(one, 'validate'), ...cell(one, 'compile')]),
  );

  const ratios = (key) => cases.map((one) => ratio(one.times[key]));
  const noise = median(cases.flatMap((one) => [spread(one.times.value.ajv), spread(one.times.value.ours)]));
  const result = {
    parse_validate_vs_ajv: median(ratios('value')).toFixed(2),
    worst: Math.min(...ratios('value')).toFixed(2),
    compile_vs_ajv: median(ratios('compile')).toFixed(1),
    validate_ns: median(cases.map((one) => median(one.times.validate.ours))).toFixed(0),
    ajv_validate_ns: median(cases.map((one) => median(one.times.validate.ajv))).toFixed(0),
    text_mode_vs_ajv: median(ratios('text')).toFixed(2),
    text_worst: Math.min(...ratios('text')).toFixed(2),
    worst_valid: Math.min(...ratios('value_valid')).toFixed(2),
    worst_invalid: Math.min(...ratios('value_invalid')).toFixed(2),
    parse_vs_ajv: median(ratios('parse')).toFixed(2),
    validate_vs_ajv: median(ratios('validate')).toFixed(2),
    compile_worst: Math.min(...ratios('compile')).toFixed(1),
    noise_pct: noise.toFixed(0),
    cases: cases.length,
    rounds,
  };
  console.log(
    `\nRESULT ${Object.entries(result)
      .map(([k, v]) => `${k}=${v}`)
      .join(' ')}`,
  );
}

async function run() {
  const definitions = readCases();
  if (definitions.length === 0) throw new Error('No case has such a name.');
  console.log(
    `bench-schema: ajv ${ajvVersion}, node ${process.version}, ${definitions.length} cases, ${rounds} rounds of ${sliceMs} ms slices`,
  );
  const ours = new OurSide(benchPath);
  const cases = [];
  for (const definition of definitions) cases.push(await load(definition, ours));
  for (const one of cases) await measureRound(one, ours, WARM_MS, false);
  for (let round = 0; round < rounds; round++) {
    for (const one of cases) {
      await measureRound(one, ours, sliceMs, true);
      if (process.stdout.isTTY) process.stdout.write(`\rround ${round + 1}/${rounds} ${one.name.padEnd(30)}`);
    }
  }
  if (process.stdout.isTTY) process.stdout.write('\r'.padEnd(50) + '\r');
  ours.close();
  report(cases);
}

run().catch((error) => {
  console.error(error.message);
  process.exit(2);
});
