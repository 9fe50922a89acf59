// Holds reference.mjs to the required tests of the official suite: the judge is judged first.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Unusable } from './documents.mjs';
import { Reference } from './reference.mjs';

const FOLDERS = { draft7: 'draft7', '2019-09': 'draft2019-09', '2020-12': 'draft2020-12' };

function jsonFiles(folder, prefix = '') {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return jsonFiles(path, `${prefix}${name}/`);
    return name.endsWith('.json') ? [[prefix + name, JSON.parse(readFileSync(path, 'utf8'))]] : [];
  });
}

/// {found, passed, total, failures: [text]}; `metaschemas` is {uri: document}.
export function checkReference(suite, metaschemas, alwaysValid) {
  const tests = join(suite ?? '', 'tests');
  if (!suite || !existsSync(tests)) return { found: false };
  const documents = { ...metaschemas };
  for (const [path, document] of jsonFiles(join(suite, 'remotes'))) {
    documents[`http://localhost:1234/${path}`] = document;
  }
  let total = 0;
  const failures = [];
  for (const [dialect, folder] of Object.entries(FOLDERS)) {
    for (const name of readdirSync(join(tests, folder)).filter((n) => n.endsWith('.json'))) {
      for (const group of JSON.parse(readFileSync(join(tests, folder, name), 'utf8'))) {
        const reference = new Reference(group.schema, { dialect, documents, alwaysValid });
        for (const test of group.tests) {
          total++;
          let got;
          try {
            got = reference.valid(test.data);
          } catch (error) {
            if (!(error instanceof Unusable)) throw error;
            got = error.message;
          }
          if (got !== test.valid) {
            failures.push(`${folder}/${name}: ${group.description}: ${test.description}: got ${got}`);
          }
        }
      }
    }
  }
  return { found: true, total, passed: total - failures.length, failures };
}
