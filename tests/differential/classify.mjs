// Why ajv and we disagree. A class is a rule of the specification that ajv does not follow, with the clause and,
// where there is one, the official test that ajv 8.20 fails.
//
// Nothing is classified by its looks. A class applies only when the reference, which passes the official suite,
// gives our verdict, and the same reference with that one rule replaced by ajv's behaviour gives ajv's.

import { Unusable } from './documents.mjs';

const judge = (ctx, options) => {
  try {
    return ctx.reference.valid(ctx.value, options);
  } catch (error) {
    if (error instanceof Unusable) return null;
    if (error instanceof TypeError && options.quirks?.has('object-prototype')) return 'throws'; // as ajv's equal() does
    throw error;
  }
};

// A class whose behaviour in ajv the reference can imitate exactly.
function imitated(id, clause, dialects = null) {
  return {
    id,
    clause,
    quirk: id,
    applies(schema, instance, dialect, ajvVerdict, ourVerdict, ctx) {
      if (dialects && !dialects.includes(dialect)) return false;
      return ctx.plain === ourVerdict && judge(ctx, { quirks: new Set([id]) }) === ajvVerdict;
    },
  };
}

// A class where ajv's answer for one keyword depends on how its code was generated: some evaluations of that
// keyword come out wrong, and changing the outcome of those alone turns our verdict into ajv's.
function misjudged(id, keywords, clause, outcomes = keywords) {
  const flipped = new Set(outcomes);
  return {
    id,
    clause,
    keywords,
    flipped,
    applies(schema, instance, dialect, ajvVerdict, ourVerdict, ctx) {
      if (ctx.plain !== ourVerdict || !keywords.every((k) => ctx.uses(k))) return false;
      return flipExplains(ctx, flipped, new Set(), ajvVerdict);
    },
  };
}

const MOST_FLIPS = 4;
const MOST_TRIES = 400;

// Fewest changes first; an evaluation that another change brings about can be changed too.
function flipExplains(ctx, flipped, quirks, ajvVerdict) {
  const all = { has: () => true };
  if (judge(ctx, { quirks, flipped, flips: all }) === ajvVerdict) return true;
  const queue = [[]];
  for (let tries = 0; queue.length > 0 && tries < MOST_TRIES; tries++) {
    const flips = queue.shift();
    if (judge(ctx, { quirks, flipped, flips: new Set(flips) }) === ajvVerdict) return true;
    if (flips.length === MOST_FLIPS) continue;
    for (let i = (flips.at(-1) ?? -1) + 1; i < ctx.reference.occurrences; i++) queue.push([...flips, i]);
  }
  return false;
}

const LATER = ['2019-09', '2020-12'];

export const CLASSES = [
  imitated(
    'multipleOf-binary',
    'validation 6.2.1: multipleOf is about the numbers; ajv divides binary doubles (optional/float-overflow.json: all integers are multiples of 0.5)',
  ),
  imitated(
    'ref-siblings',
    'draft-07 core 8.3: keywords beside $ref are ignored (draft7/ref.json: ref overrides any sibling keywords)',
    ['draft7'],
  ),
  imitated(
    'object-prototype',
    'core 4.2.1: an object has the members it has; ajv sees those of Object.prototype (required.json: required properties whose names are Javascript object property names)',
  ),
  imitated(
    'required-empty-name',
    'validation 6.5.3 and 6.5.4: a required name may be empty; ajv takes the missing name "" for none missing',
  ),
  imitated(
    'uniqueItems-typed',
    'validation 6.4.3: all items are compared; ajv skips those not of the type in items',
  ),
  imitated(
    'contains-evaluates',
    'core 2020-12 10.3.1.3, 2019-09 9.3.1.4: contains evaluates the items it matches, in 2019-09 none (unevaluatedItems.json: unevaluatedItems depends on adjacent contains)',
    LATER,
  ),
  imitated(
    'if-alone',
    'core 10.2.2.1: annotations of if are collected without then and else (unevaluatedProperties.json: unevaluatedProperties can see annotations from if without then and else)',
    LATER,
  ),
  imitated(
    'dependencies-kept',
    'core 2020-12 10.2.2.4 and 2019-09 9.2.2.4: dependencies is no keyword any more',
    LATER,
  ),
  imitated(
    'metaschema-draft7',
    'draft-07 validation 10.3 and 6.1.2: writeOnly is a boolean, enum SHOULD have unique elements; ajv carries an earlier text of the ' +
      'metaschema',
    ['draft7'],
  ),
  imitated(
    'format-suite',
    "validation 7.3: the format's RFC (optional/format: the test is named beside the text in formats.mjs)",
  ),
  misjudged(
    'tuple-skips',
    [],
    'core 10.3.1: every keyword counts; where an array is shorter than prefixItems (or a tuple in items), ajv jumps over the array ' +
      'keywords that follow in its code',
    ['tuple on short array'],
  ),
  misjudged(
    'contains-stale',
    ['contains'],
    'core 10.3.1.3: an empty array contains nothing; ajv answers with what it last found in another array',
    ['contains on []'],
  ),
  misjudged(
    'dynamicRef',
    ['$dynamicRef'],
    'core 2020-12 8.2.3.2 (dynamicRef.json: 25 tests that ajv fails, e.g. A $dynamicRef to an $anchor in the same schema resource behaves like a normal $ref to an $anchor)',
  ),
  misjudged(
    'recursiveRef',
    ['$recursiveRef'],
    'core 2019-09 8.2.4.2 (recursiveRef.json: $recursiveRef with no $recursiveAnchor in the initial target schema resource)',
  ),
  misjudged(
    'unevaluatedItems',
    ['unevaluatedItems'],
    'core 11.2: items evaluated by in-place applicators that accept the instance; in ajv "all of them" counts as one and a branch ' +
      'not taken as all (unevaluatedItems.json: unevaluatedItems with nested items)',
  ),
  misjudged(
    'unevaluatedProperties',
    ['unevaluatedProperties'],
    'core 11.3: properties evaluated by in-place applicators that accept the instance; in ajv those of a failed if count too and a ' +
      'dependentSchemas that does not apply drops the others ' +
      '(unevaluatedProperties.json: unevaluatedProperties with if/then/else, then not defined)',
  ),
  {
    id: 'ajv-throws',
    clause:
      'an instance is valid or not; ajv answers with an exception of its generated code, e.g. patternProperties beside a choice ' +
      'with properties (dynamicRef.json: $ref to $dynamicRef finds detached $dynamicAnchor)',
    applies(schema, instance, dialect, ajvVerdict, ourVerdict, ctx) {
      return ajvVerdict === 'throws' && ctx.plain !== null && ctx.plain === ourVerdict;
    },
  },
];

const IMITATED = CLASSES.filter((c) => c.quirk);
const MISJUDGED = CLASSES.filter((c) => c.keywords);

/// The name of the class, of two classes that only together explain the difference, or null: then it is ours.
export function classify(schema, instance, dialect, ajvVerdict, ourVerdict, ctx) {
  ctx.plain = judge(ctx, {});
  for (const c of CLASSES) if (c.applies(schema, instance, dialect, ajvVerdict, ourVerdict, ctx)) return c.id;
  if (ctx.plain !== ourVerdict) return null;
  for (const a of IMITATED) {
    for (const b of IMITATED) {
      if (b.id > a.id && judge(ctx, { quirks: new Set([a.quirk, b.quirk]) }) === ajvVerdict)
        return `${a.id} + ${b.id}`;
    }
    for (const b of MISJUDGED) {
      if (!b.keywords.every((k) => ctx.uses(k))) continue;
      if (flipExplains(ctx, b.flipped, new Set([a.quirk]), ajvVerdict)) return `${a.id} + ${b.id}`;
    }
  }
  return null;
}
