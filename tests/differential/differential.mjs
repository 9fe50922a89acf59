// Generated schemas and instances, judged by our engine and by ajv. Usage:
//   NODE_MODULES_DIR=… node differential.mjs DRIVER [REPORT_FOLDER]
// Environment: PAIRS (100000), SEED (1), CALLGATE_SCHEMA_SUITE (official suite, to check the reference first),
// SHOW (a class: print more of its samples, shrunk).

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAjv } from './ajv.mjs';
import { CLASSES, classify } from './classify.mjs';
import { Driver } from './driver.mjs';
import { makeFormats, wronglyMarked } from './formats.mjs';
import { SchemaGenerator } from './generator.mjs';
import { InstanceGenerator } from './instances.mjs';
import { ALL_KEYWORDS, collectKeywords, keywordsOf } from './keywords.mjs';
import { Prng } from './prng.mjs';
import { DIALECTS, Unusable } from './documents.mjs';
import { Reference } from './reference.mjs';
import { checkReference } from './reference_check.mjs';
import { shrink } from './shrink.mjs';
import { jsonText } from './text.mjs';

const REQUIRED_PAIRS = 100_000;
const PER_SCHEMA = 20;
const BATCH = 64; // schemas on their way to the driver at once

const [driverPath, reportFolder = 'build/differential'] = process.argv.slice(2);
if (!driverPath) {
  console.error('Usage: node differential.mjs DRIVER [REPORT_FOLDER]');
  process.exit(2);
}
const wanted = Number(process.env.PAIRS ?? REQUIRED_PAIRS);
const seed = Number(process.env.SEED ?? 1);
if (!Number.isInteger(wanted) || wanted < 1 || !Number.isInteger(seed)) {
  console.error('PAIRS must be a positive whole number and SEED a whole number.');
  process.exit(2);
}

const ajv = loadAjv();
const formats = makeFormats(ajv.format);
const driver = new Driver(driverPath);

const tally = {
  schemas: 0,
  pairs: 0,
  valid: 0,
  disagreements: 0,
  ours: 0,
  keywords: new Map(ALL_KEYWORDS.map((k) => [k, 0])),
  classes: new Map(),
  ajvRefused: new Map(),
  weRefused: new Map(),
  refusedByBoth: 0,
  faults: [],
  unclassified: [],
  third: [],
  shown: [],
  unusable: 0,
};

function bump(map, key, sample) {
  const row = map.get(key) ?? { count: 0, sample };
  row.count++;
  map.set(key, row);
}

function makeReference(document, dialect, format, dependencies) {
  return new Reference(document, {
    dialect,
    assertFormat: format,
    formats,
    dependencies,
    documents: ajv.metaschemas,
    earlierTexts: ajv.earlierTexts,
    scriptEqual: ajv.scriptEqual,
    alwaysValid: (s) => ajv.alwaysValid(s, dialect),
  });
}

// What the specification leaves open, asked of the driver once.
async function probe() {
  const answer = await driver.ask('{"dependencies":{"a":["b"]}}', '2020-12', false, ['{"a":1}']);
  return { dependencies: answer.valid?.[0] === false };
}

/// {ajv, ours, klass} of one pair; klass null means ours.
function compare(state, text, value, ours) {
  const ajvVerdict = state.validate(value);
  if (ajvVerdict === ours) return { agree: true };
  const ctx = {
    reference: state.reference,
    value,
    uses: (k) => state.keywords.has(k),
  };
  const klass = classify(state.schema, value, state.dialect, ajvVerdict, ours, ctx);
  return { agree: false, ajv: ajvVerdict, ours, klass, reference: ctx.plain };
}

function prepare(schemaText, dialect, format, leeway) {
  const schema = JSON.parse(schemaText);
  const keywords = new Set();
  collectKeywords(schema, dialect, keywords);
  const reference = makeReference(schema, dialect, format, leeway.dependencies);
  return { schemaText, schema, dialect, format, keywords, reference, leeway };
}

function compileAjv(state) {
  try {
    state.validate = ajv.compile(JSON.parse(state.schemaText), state.dialect, state.format);
  } catch (error) {
    state.validate = null;
    state.refusal = error.message
      .replace(/"[^"]*"/g, '"…"')
      .replace(/reference \S+/, 'reference …')
      .slice(0, 90);
  }
}

async function judgeSchema(state, texts) {
  const answerSoon = driver.ask(state.schemaText, state.dialect, state.format, texts);
  compileAjv(state);
  const answer = await answerSoon;
  for (const fault of answer.failures ?? []) tally.faults.push({ fault, ...sampleOf(state, null) });
  const sample = sampleOf(state, null);
  if (!answer.compiled) {
    if (!state.validate) tally.refusedByBoth++;
    else bump(tally.weRefused, answer.reason ?? answer.error, { ...sample, error: answer.error });
    return;
  }
  if (!state.validate) {
    bump(tally.ajvRefused, state.refusal, sample);
    return;
  }
  tally.schemas++;
  for (const k of state.keywords) if (tally.keywords.has(k)) tally.keywords.set(k, tally.keywords.get(k) + 1);
  texts.forEach((text, i) => countPair(state, text, answer.valid[i]));
}

function sampleOf(state, text) {
  return { dialect: state.dialect, format: state.format, schema: state.schemaText, instance: text };
}

function countPair(state, text, ours) {
  const value = JSON.parse(text);
  tally.pairs++;
  const result = compare(state, text, value, ours);
  if (ours === true) tally.valid++;
  if (result.agree) {
    checkThird(state, text, value, ours);
    return;
  }
  tally.disagreements++;
  const sample = { ...sampleOf(state, text), ajv: result.ajv, ours, reference: result.reference };
  if (result.klass) {
    bump(tally.classes, result.klass, sample);
    if (result.klass === process.env.SHOW) tally.shown.push(sample);
  } else {
    tally.ours++;
    tally.unclassified.push(sample);
  }
}

// Both agree; the reference should too, or the judge of the disagreements is not to be trusted.
function checkThird(state, text, value, verdict) {
  try {
    const reference = state.reference.valid(value);
    if (reference !== verdict) tally.third.push({ ...sampleOf(state, text), both: verdict, reference });
  } catch (error) {
    if (!(error instanceof Unusable)) throw error;
    tally.unusable++;
  }
}

function progress(final = false) {
  if (!process.stdout.isTTY) return;
  process.stdout.write(
    `\r${tally.pairs} pairs, ${tally.schemas} schemas, ${tally.disagreements} disagreements, ${tally.ours} ours `,
  );
  if (final) process.stdout.write('\n');
}

function nextSchema(random, index, leeway) {
  const dialect = DIALECTS[index % DIALECTS.length];
  const featured = keywordsOf(dialect);
  const keyword = featured[Math.floor(index / DIALECTS.length) % featured.length];
  const generator = new SchemaGenerator(random, dialect);
  // The built-in metaschemas are judged like any other schema, with schemas as instances.
  const meta = keyword === '$schema' && random.chance(40);
  const { schema, format } = meta
    ? { schema: generator.metaschema(), format: false }
    : generator.generate(keyword);
  const source = meta
    ? () => new SchemaGenerator(random, dialect).generate(random.pick(featured)).schema
    : null;
  const state = prepare(jsonText(schema, random), dialect, format, leeway);
  const texts = new InstanceGenerator(random, state.reference, dialect, source).generate(PER_SCHEMA);
  return { state, texts };
}

async function run() {
  console.log(`differential: ajv ${ajv.version}, seed ${seed}, ${wanted} pairs wanted`);
  if (!selfCheck()) return 1;
  const leeway = await probe();
  const random = new Prng(seed);
  for (let index = 0; tally.pairs < wanted && index < wanted;) {
    const batch = [];
    for (const end = index + BATCH; index < end; index++) {
      const { state, texts } = nextSchema(random, index, leeway);
      batch.push(judgeSchema(state, texts));
    }
    await Promise.all(batch);
    progress();
  }
  progress(true);
  await report(leeway);
  driver.close();
  return verdict();
}

function selfCheck() {
  const marks = wronglyMarked(ajv.format);
  if (marks.length > 0) {
    console.log(`formats.mjs no longer says what ajv-formats does: ${marks.join('; ')}`);
    return false;
  }
  const suite = checkReference(process.env.CALLGATE_SCHEMA_SUITE, ajv.metaschemas, ajv.alwaysValid);
  if (!suite.found) {
    console.log('reference: not checked, the official suite is absent (set CALLGATE_SCHEMA_SUITE)');
    return true;
  }
  console.log(`reference: ${suite.passed}/${suite.total} required tests of the official suite`);
  suite.failures.slice(0, 10).forEach((f) => console.log(`  ${f}`));
  return suite.failures.length === 0;
}

const clip = (text, width = 150) =>
  text === null ? '' : text.length > width ? `${text.slice(0, width)}…` : text;

function showSample(sample, indent = '    ') {
  console.log(
    `${indent}${sample.dialect}${sample.format ? ', formats asserted' : ''}: ${clip(sample.schema, 400)}`,
  );
  if (sample.instance !== null) {
    const say = (v) => (v === null ? 'over budget' : v);
    console.log(
      `${indent}instance ${clip(sample.instance)}  ajv ${say(sample.ajv)}, ours ${say(sample.ours)}, reference ${say(sample.reference)}`,
    );
  }
}

function showKeywords() {
  console.log('\nkeyword hits (schemas that use it)');
  const rows = [...tally.keywords].map(([k, n]) => `${k.padEnd(22)}${String(n).padStart(6)}`);
  const columns = 4;
  const height = Math.ceil(rows.length / columns);
  for (let i = 0; i < height; i++) console.log('  ' + rows.filter((_, j) => j % height === i).join('   '));
}

function showClasses() {
  console.log('\nclasses of disagreement');
  const clause = new Map(CLASSES.map((c) => [c.id, c.clause]));
  for (const [id, { count, sample }] of [...tally.classes].sort((a, b) => b[1].count - a[1].count)) {
    console.log(`  ${String(count).padStart(6)}  ${id}${clause.has(id) ? `: ${clause.get(id)}` : ''}`);
    showSample(sample, '          ');
  }
}

function showRefusals(title, map) {
  if (map.size === 0) return;
  console.log(`\n${title}`);
  for (const [reason, { count, sample }] of map) {
    console.log(`  ${String(count).padStart(6)}  ${reason}`);
    if (sample.error) console.log(`          ${clip(sample.error, 300)}`);
    showSample(sample, '          ');
  }
}

async function report(leeway) {
  showKeywords();
  showRefusals('schemas that ajv refuses and we compile (no pairs)', tally.ajvRefused);
  showRefusals('schemas that we refuse and ajv compiles: ours', tally.weRefused);
  showClasses();
  mkdirSync(reportFolder, { recursive: true });
  const path = join(reportFolder, 'unclassified.ndjson');
  writeFileSync(path, tally.unclassified.map((s) => JSON.stringify(s) + '\n').join(''));
  writeFileSync(
    join(reportFolder, 'both_against_reference.ndjson'),
    tally.third.map((s) => JSON.stringify(s) + '\n').join(''),
  );
  if (tally.unclassified.length > 0) {
    console.log(`\nunclassified: ${tally.unclassified.length}, all in ${path}; the first, shrunk:`);
    for (const sample of pickVaried(tally.unclassified, 5)) showSample(await shrinkSample(sample, leeway));
  }
  if (tally.shown.length > 0) {
    console.log(`\n${process.env.SHOW}, shrunk:`);
    for (const sample of pickVaried(tally.shown, 12))
      showSample(await shrinkSample(sample, leeway, process.env.SHOW));
  }
  if (tally.third.length > 0) {
    console.log(`\nboth agree, the reference does not: ${tally.third.length}; the first:`);
    for (const s of tally.third.slice(0, 5)) showSample({ ...s, ajv: s.both, ours: s.both });
  }
  if (tally.faults.length > 0) {
    console.log(`\nthe driver found our own answers at odds: ${tally.faults.length}; the first:`);
    for (const f of tally.faults.slice(0, 5)) {
      console.log(`  ${f.fault}`);
      showSample(f);
    }
  }
}

// One sample per schema.
function pickVaried(samples, count) {
  const seen = new Set();
  return samples.filter((s) => !seen.has(s.schema) && seen.add(s.schema)).slice(0, count);
}

async function shrinkSample(sample, leeway, klass = null) {
  const still = async (schema, instance) => {
    const schemaText = JSON.stringify(schema);
    const text = JSON.stringify(instance);
    try {
      const state = prepare(schemaText, sample.dialect, sample.format, leeway);
      compileAjv(state);
      if (!state.validate) return null;
      const answer = await driver.ask(schemaText, sample.dialect, sample.format, [text]);
      if (!answer.compiled) return null;
      const result = compare(state, text, instance, answer.valid[0]);
      if (result.agree || result.klass !== klass) return null;
      return {
        ...sample,
        schema: schemaText,
        instance: text,
        ajv: result.ajv,
        ours: result.ours,
        reference: result.reference,
      };
    } catch (error) {
      if (error instanceof Unusable || error instanceof SyntaxError) return null;
      throw error;
    }
  };
  return (await shrink(JSON.parse(sample.schema), JSON.parse(sample.instance), still)) ?? sample;
}

function verdict() {
  const share = (100 * tally.valid) / Math.max(tally.pairs, 1);
  const missing = [...tally.keywords].filter(([, n]) => n === 0).map(([k]) => k);
  const refusals = [...tally.weRefused.values()].reduce((n, r) => n + r.count, 0);
  const problems = [];
  if (tally.ours > 0) problems.push(`${tally.ours} disagreements are ours`);
  if (refusals > 0) problems.push(`we refuse ${refusals} schemas that are valid`);
  if (tally.faults.length > 0) problems.push(`${tally.faults.length} answers of ours contradict each other`);
  if (tally.third.length > 0)
    problems.push(`${tally.third.length} verdicts of both differ from the reference`);
  if (process.env.PAIRS === undefined && tally.pairs < REQUIRED_PAIRS)
    problems.push(`only ${tally.pairs} pairs`);
  if (missing.length > 0 && process.env.PAIRS === undefined)
    problems.push(`keywords never used: ${missing.join(', ')}`);
  if (share < 20 || share > 80) problems.push('the share of valid instances is outside 20–80 %');
  console.log(
    `\n${tally.schemas} schemas, ${tally.keywords.size} keywords, ${share.toFixed(1)} % of the instances valid, ` +
      `${tally.refusedByBoth} schemas refused by both, ${tally.unusable} pairs beyond the reference, seed ${seed}`,
  );
  for (const p of problems) console.log(`FAILED: ${p}`);
  console.log(
    `RESULT pairs=${tally.pairs} disagreements=${tally.disagreements} ours=${tally.ours + refusals + tally.faults.length} ` +
      `valid_pct=${share.toFixed(1)} keywords=${tally.keywords.size - missing.length}/${tally.keywords.size} seed=${seed}`,
  );
  return problems.length > 0 ? 1 : 0;
}

run().then(
  (code) => {
    process.exitCode = code;
  },
  (error) => {
    console.error(error.message);
    process.exit(2);
  },
);
