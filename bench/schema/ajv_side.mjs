// ajv's side of the benchmark: the same slices, measured in this process.

import { createRequire } from 'node:module';
import { join } from 'node:path';

function load() {
  const folder = process.env.NODE_MODULES_DIR ?? process.env.NODE_PATH?.split(':')[0];
  if (!folder) throw new Error('Set NODE_MODULES_DIR to the node_modules folder that holds ajv.');
  const require = createRequire(join(folder, 'bench.js'));
  return { Ajv: require('ajv/dist/2020').default, version: require('ajv/package.json').version };
}

const { Ajv, version } = load();
export const ajvVersion = version;

// As people use it: the verdict and the first error. Formats are annotations on both sides.
const OPTIONS = { allErrors: false, strict: false, validateFormats: false, logger: false };
const CLONES = 200;

// A loop of its own per case and set, so that its call of the validator stays monomorphic.
const makeLoop = (body) =>
  new Function(
    'list',
    'validate',
    'passes',
    `let n = 0; for (let p = 0; p < passes; p++) for (let i = 0; i < list.length; i++) { ${body} } return n;`,
  );
const JUDGE_TEXT = 'if (validate(JSON.parse(list[i]))) n++;';
const JUDGE_VALUE = 'if (validate(list[i])) n++;';
const PARSE = 'if (JSON.parse(list[i]) !== null) n++;';

export class AjvCase {
  constructor({ schema, valid, invalid }) {
    this.schemaText = JSON.stringify(schema);
    this.validate = new Ajv(OPTIONS).compile(JSON.parse(this.schemaText));
    const all = [...valid, ...invalid];
    this.slices = {
      'value all': [makeLoop(JUDGE_TEXT), all],
      'value valid': [makeLoop(JUDGE_TEXT), valid],
      'value invalid': [makeLoop(JUDGE_TEXT), invalid],
      'parse all': [makeLoop(PARSE), all],
      'validate all': [makeLoop(JUDGE_VALUE), all.map((text) => JSON.parse(text))],
    };
  }

  verdict(text) {
    return this.validate(JSON.parse(text));
  }

  /// Nanoseconds per text, or per compilation.
  measure(what, set, ms) {
    if (what === 'compile') return this.compile(ms);
    const [loop, list] = this.slices[`${what} ${set}`];
    const start = process.hrtime.bigint();
    const end = start + BigInt(ms) * 1_000_000n;
    let passes = 0;
    let batch = 1;
    let now = start;
    while (now < end) {
      loop(list, this.validate, batch);
      passes += batch;
      const before = now;
      now = process.hrtime.bigint();
      if (now - before < 100_000n) batch *= 2;
    }
    return Number(now - start) / (passes * list.length);
  }

  // ajv keeps what it compiled by the schema's identity: every compilation gets a schema of its own, made before
  // the clock starts. So is the instance, with its metaschemas compiled by a first schema.
  compile(ms) {
    const ajv = new Ajv(OPTIONS);
    ajv.compile({ type: 'object' });
    const schemas = Array.from({ length: CLONES }, () => JSON.parse(this.schemaText));
    const start = process.hrtime.bigint();
    const end = start + BigInt(ms) * 1_000_000n;
    let done = 0;
    let now = start;
    while (now < end && done < CLONES) {
      ajv.compile(schemas[done++]);
      now = process.hrtime.bigint();
    }
    return Number(now - start) / done;
  }
}
