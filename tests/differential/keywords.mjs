// The keywords of each dialect, and what a schema uses of them.

import { eachSubschema } from './documents.mjs';

const words = (text) => text.split(/\s+/);

/// The assertions and applicators that look at one type. Those that are used most stand twice.
export const BY_TYPE = {
  number: words('multipleOf maximum exclusiveMaximum minimum exclusiveMinimum'),
  string: words('maxLength minLength pattern format contentEncoding contentMediaType contentSchema'),
  array:
    words(`items items prefixItems additionalItems contains minContains maxContains maxItems minItems uniqueItems
    unevaluatedItems`),
  object:
    words(`properties properties patternProperties additionalProperties propertyNames required maxProperties
    minProperties dependentRequired dependentSchemas dependencies unevaluatedProperties`),
};
export const COMBINE = words('allOf anyOf oneOf not if then else');
export const ANNOTATE = words('title description default examples deprecated readOnly writeOnly $comment');

const REFER = words(
  '$ref $id $anchor $defs definitions $schema $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor',
);
const SINCE_2019 =
  words(`dependentRequired dependentSchemas unevaluatedItems unevaluatedProperties minContains maxContains
  contentSchema deprecated $anchor $defs`);
const ONLY_2020 = words('prefixItems $dynamicRef $dynamicAnchor');
const ONLY_2019 = words('$recursiveRef $recursiveAnchor');
const UNTIL_2019 = ['additionalItems'];
const ONLY_DRAFT7 = ['dependencies'];

/// Keywords that appear where they do not count, too.
export const FOREIGN = words('prefixItems dependentRequired minContains additionalItems dependencies');

/// Keywords that may be judged in another way when there is much of them.
export const WIDE = words(
  'enum properties required additionalProperties oneOf anyOf uniqueItems unevaluatedProperties',
);

/// The keywords of a dialect, each to be featured in turn.
export function keywordsOf(dialect) {
  const all = [
    'type',
    'enum',
    'const',
    ...Object.values(BY_TYPE).flat(),
    ...COMBINE,
    ...ANNOTATE,
    ...REFER,
    'boolean schema',
  ];
  const out = new Set(dialect === 'draft7' ? SINCE_2019 : []);
  if (dialect !== '2020-12') ONLY_2020.forEach((k) => out.add(k));
  if (dialect !== '2019-09') ONLY_2019.forEach((k) => out.add(k));
  if (dialect === '2020-12') UNTIL_2019.forEach((k) => out.add(k));
  if (dialect !== 'draft7') ONLY_DRAFT7.forEach((k) => out.add(k));
  return [...new Set(all)].filter((k) => !out.has(k));
}

/// Every keyword that a full run must have used.
export const ALL_KEYWORDS = [...new Set(['draft7', '2019-09', '2020-12'].flatMap(keywordsOf))];

/// Adds the keywords at schema positions of `schema` to `into`.
export function collectKeywords(schema, dialect, into) {
  if (typeof schema === 'boolean') {
    into.add('boolean schema');
    return;
  }
  for (const k of Object.keys(schema)) into.add(k);
  if (dialect === 'draft7' && typeof schema.$id === 'string' && schema.$id.includes('#')) into.add('$anchor');
  eachSubschema(schema, dialect, (sub) => collectKeywords(sub, dialect, into));
}
