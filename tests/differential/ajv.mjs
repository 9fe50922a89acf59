// ajv as the other opinion: one fresh instance per schema, so that nothing carries over.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

function modulesFolder() {
  const folder = process.env.NODE_MODULES_DIR ?? process.env.NODE_PATH?.split(':')[0];
  if (!folder) {
    throw new Error('Set NODE_MODULES_DIR to the node_modules folder that holds ajv and ajv-formats.');
  }
  return folder;
}

export function loadAjv() {
  const require = createRequire(join(modulesFolder(), 'differential.js'));
  const classes = {
    draft7: require('ajv').default,
    '2019-09': require('ajv/dist/2019').default,
    '2020-12': require('ajv/dist/2020').default,
  };
  const addFormats = require('ajv-formats').default;
  const { fullFormats } = require('ajv-formats/dist/formats.js');
  const folder = dirname(require.resolve('ajv/package.json'));
  const version = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version;
  const RULES = Object.fromEntries(
    Object.entries(classes).map(([d, Ajv]) => [d, new Ajv({ strict: false }).RULES.all]),
  );

  const documents = metaschemas(join(folder, 'dist', 'refs'));

  return {
    version,
    metaschemas: documents,
    earlierTexts: bringUpToDate(documents['http://json-schema.org/draft-07/schema'].properties),
    scriptEqual: require('fast-deep-equal'),

    /// A function value → true, false or 'throws'. Throws what ajv's compiler throws.
    compile(schema, dialect, format) {
      const ajv = new classes[dialect]({
        strict: false,
        validateSchema: false,
        validateFormats: format,
        logger: false,
      });
      if (format) addFormats(ajv);
      const validate = ajv.compile(schema);
      return (value) => {
        try {
          return validate(value);
        } catch {
          return 'throws';
        }
      };
    },

    /// What ajv takes for a schema that accepts everything.
    alwaysValid(schema, dialect = '2020-12') {
      if (typeof schema === 'boolean') return schema;
      return !Object.keys(schema).some((k) => RULES[dialect][k]);
    },

    format(name, text) {
      const rule = fullFormats[name];
      const test = rule.validate ?? rule;
      return test instanceof RegExp ? test.test(text) : test(text);
    },
  };
}

// ajv carries an earlier text of the draft-07 metaschema. Validation 10.3 has writeOnly, a boolean; by 6.1.2 the
// elements of enum SHOULD be unique and at least one, which is no condition. → Map of what changed to what ajv has.
function bringUpToDate(properties) {
  const earlier = new Map();
  const replace = (name, now) => {
    earlier.set(now, properties[name] ?? true);
    properties[name] = now;
  };
  if (!properties.writeOnly) replace('writeOnly', { type: 'boolean', default: false });
  if (properties.enum.uniqueItems) replace('enum', { type: 'array', items: true });
  return earlier;
}

// The metaschema documents that ajv carries, by address.
function metaschemas(folder) {
  const out = {};
  const read = (at) => {
    for (const name of readdirSync(at)) {
      const path = join(at, name);
      if (statSync(path).isDirectory()) {
        read(path);
      } else if (name.endsWith('.json')) {
        const document = JSON.parse(readFileSync(path, 'utf8'));
        if (document.$id?.includes('//json-schema.org/')) out[document.$id.replace(/#$/, '')] = document;
      }
    }
  };
  read(folder);
  return out;
}
