// Instances for a schema: built to satisfy it, spoiled by one small change, or unrelated.

import { FORMATS } from './formats.mjs';
import { DECIMALS, INTEGERS, KEYS, PATTERNS, SCRIPT_KEYS, TYPES, scalar } from './pools.mjs';
import { Unusable } from './documents.mjs';
import { equal, typeOf } from './reference.mjs';
import { jsonText, put, reordered } from './text.mjs';

const isObject = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);
const SAMPLES = new Map(PATTERNS);

export class InstanceGenerator {
  /// `reference` is the schema's Reference: it resolves references and says which candidates are valid. `source`
  /// makes instances that are likely valid, where there is a better way than to read the schema.
  constructor(random, reference, dialect, source = null) {
    this.random = random;
    this.reference = reference;
    this.dialect = dialect;
    this.source = source ?? (() => this.aim(3));
  }

  /// Up to `count` different texts, as near to half valid as the schema allows.
  generate(count) {
    const { random } = this;
    const texts = new Map();
    const tally = { true: 0, false: 0 };
    const limit = Math.ceil(count * 0.55);
    for (let tries = 0; texts.size < count && tries < count * 8; tries++) {
      const value = random.weighted([
        [45, () => this.source()],
        [35, () => this.mutate(this.source())],
        [20, () => this.random_(2)],
      ])();
      const text = jsonText(value, random);
      if (texts.has(text)) continue;
      const valid = this.judge(JSON.parse(text));
      if (valid !== null && tally[valid] >= limit && tries < count * 6) continue;
      texts.set(text, valid);
      if (valid !== null) tally[valid]++;
    }
    return [...texts.keys()];
  }

  judge(value) {
    try {
      return this.reference.valid(value);
    } catch (error) {
      if (error instanceof Unusable) return null;
      throw error;
    }
  }

  aim(depth) {
    return this.satisfy([{ schema: this.reference.document, resource: this.reference.root }], depth);
  }

  random_(depth) {
    const { random } = this;
    const type = random.pick(depth > 0 ? TYPES : TYPES.slice(0, 5));
    if (type === 'array') return Array.from({ length: random.below(4) }, () => this.random_(depth - 1));
    if (type === 'object') {
      const o = {};
      for (const k of random.some(random.chance(95) ? KEYS : SCRIPT_KEYS, random.below(4)))
        put(o, k, this.random_(depth - 1));
      return o;
    }
    return scalar(random, type);
  }

  // All schemas that the value must satisfy at once: in-place applicators opened, one branch of each choice taken.
  open(parts, limit = 40) {
    const { random } = this;
    const out = [];
    const queue = [...parts];
    while (queue.length > 0 && out.length < limit) {
      const { schema, resource: outer } = queue.shift();
      if (!isObject(schema)) continue;
      const resource = this.reference.own.get(schema) ?? outer;
      const push = (s) => queue.push({ schema: s, resource });
      const follow = (ref) => {
        try {
          queue.push(this.reference.resolve(ref, resource));
        } catch (error) {
          if (!(error instanceof Unusable)) throw error;
        }
      };
      if (typeof schema.$ref === 'string') follow(schema.$ref);
      if (schema.$ref === undefined || this.dialect !== 'draft7') {
        out.push({ schema, resource });
        if (typeof schema.$dynamicRef === 'string') follow(schema.$dynamicRef);
        if (typeof schema.$recursiveRef === 'string') follow(schema.$recursiveRef);
        (schema.allOf ?? []).forEach(push);
        if (schema.anyOf) push(random.pick(schema.anyOf));
        if (schema.oneOf) push(random.pick(schema.oneOf));
        if (Object.hasOwn(schema, 'if')) {
          if (random.chance(60)) {
            push(schema.if);
            if (Object.hasOwn(schema, 'then')) push(schema.then);
          } else if (Object.hasOwn(schema, 'else')) {
            push(schema.else);
          }
        }
      }
    }
    return out;
  }

  satisfy(parts, depth) {
    const { random } = this;
    const open = this.open(parts);
    const fixed = open.flatMap(({ schema }) =>
      Object.hasOwn(schema, 'const') ? [schema.const] : (schema.enum ?? []),
    );
    if (fixed.length > 0 && random.chance(85)) {
      return this.best(
        open,
        Array.from({ length: 4 }, () => reordered(random.pick(fixed), random)),
      );
    }
    const type = this.type(open);
    if (type === 'array' && depth > 0) return this.array(open, depth);
    if (type === 'object' && depth > 0) return this.object(open, depth);
    if (type === 'array') return [];
    if (type === 'object') return {};
    return this.best(open, this.scalars(open, type));
  }

  type(open) {
    const { random } = this;
    let types = TYPES;
    for (const { schema } of open) {
      if (!Object.hasOwn(schema, 'type')) continue;
      const own = [schema.type].flat();
      const both = types.filter((t) => own.includes(t) || (t === 'integer' && own.includes('number')));
      if (both.length > 0) types = both;
    }
    const hinted = types.filter((t) =>
      open.some(({ schema }) => Object.keys(schema).some((k) => HINTS[k] === t)),
    );
    return random.pick(hinted.length > 0 && random.chance(80) ? hinted : types);
  }

  // The first candidate that all parts accept; scalars only, so that this costs little.
  best(open, candidates) {
    this.reference.quirks = new Set();
    this.reference.flipped = null;
    for (const candidate of candidates) {
      this.reference.depth = 0;
      this.reference.steps = 0;
      try {
        if (
          open.every(({ schema, resource }) => this.reference.assertions(schema, resource.dialect, candidate))
        ) {
          return candidate;
        }
      } catch (error) {
        if (!(error instanceof Unusable)) throw error;
      }
    }
    return candidates[0];
  }

  scalars(open, type) {
    const { random } = this;
    const out = [];
    for (const { schema } of open) {
      if (type === 'number' || type === 'integer') {
        for (const k of ['maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum']) {
          if (Object.hasOwn(schema, k)) out.push(schema[k], schema[k] + 1, schema[k] - 1, schema[k]);
        }
        if (Object.hasOwn(schema, 'multipleOf')) {
          const factor = random.pick([1, 2, 3, 7, 11, 29, -1, -3, 0, 1000]);
          out.push(Number((schema.multipleOf * factor).toPrecision(15)), schema.multipleOf * factor);
        }
      } else if (type === 'string') {
        if (Object.hasOwn(schema, 'pattern')) out.push(...(SAMPLES.get(schema.pattern) ?? []));
        if (Object.hasOwn(schema, 'format') && Object.hasOwn(FORMATS, schema.format)) {
          out.push(...random.some(FORMATS[schema.format], 6).map((row) => row.text));
        }
      }
    }
    const mixed = random.some(out, out.length);
    for (let i = 0; i < 8; i++) mixed.push(scalar(random, type));
    return type === 'integer' ? mixed.map((n) => (Number.isInteger(n) ? n : Math.trunc(n))) : mixed;
  }

  array(open, depth) {
    const { random } = this;
    let low = 0;
    let high = 4;
    const contains = [];
    for (const { schema, resource } of open) {
      if (schema.minItems !== undefined) low = Math.max(low, schema.minItems);
      if (schema.maxItems !== undefined) high = Math.min(high, schema.maxItems);
      if (Object.hasOwn(schema, 'contains')) {
        const times = schema.minContains === undefined ? 1 : Math.max(schema.minContains, random.below(2));
        for (let i = 0; i < times; i++) contains.push({ schema: schema.contains, resource });
      }
    }
    low = Math.max(low, Math.min(contains.length, high));
    const length = low <= high ? random.between(low, high) : low;
    const unique = open.some(({ schema }) => schema.uniqueItems === true) && random.chance(80);
    const out = [];
    for (let i = 0; i < length; i++) {
      const parts = open.flatMap(({ schema, resource }) => this.itemParts(schema, resource, i));
      if (contains.length > 0 && random.below(length - i) < contains.length) parts.push(contains.pop());
      let item = this.satisfy(parts, depth - 1);
      for (let tries = 0; unique && tries < 8 && out.some((v) => equal(v, item)); tries++)
        item = this.satisfy(parts, depth - 1);
      out.push(item);
    }
    return out;
  }

  itemParts(schema, resource, i) {
    const out = [];
    const push = (s) => out.push({ schema: s, resource });
    const tuple = Array.isArray(schema.items)
      ? schema.items
      : this.dialect === '2020-12'
        ? schema.prefixItems
        : undefined;
    if (tuple && i < tuple.length) push(tuple[i]);
    else if (Array.isArray(schema.items))
      Object.hasOwn(schema, 'additionalItems') && push(schema.additionalItems);
    else if (Object.hasOwn(schema, 'items')) push(schema.items);
    else if (isObject(schema.unevaluatedItems)) push(schema.unevaluatedItems);
    return out;
  }

  object(open, depth) {
    const { random } = this;
    const names = new Set();
    let high = 64;
    let low = 0;
    for (const { schema } of open) {
      for (const k of schema.required ?? []) names.add(k);
      for (const k of Object.keys(schema.properties ?? {})) if (random.chance(55)) names.add(k);
      for (const k of Object.keys(schema.dependencies ?? {})) if (random.chance(40)) names.add(k);
      for (const k of Object.keys(schema.dependentSchemas ?? {})) if (random.chance(40)) names.add(k);
      for (const k of Object.keys(schema.dependentRequired ?? {})) if (random.chance(40)) names.add(k);
      for (const p of Object.keys(schema.patternProperties ?? {})) {
        if (random.chance(50)) names.add(random.pick(SAMPLES.get(p) ?? KEYS));
      }
      if (schema.propertyNames?.pattern && random.chance(60))
        names.add(random.pick(SAMPLES.get(schema.propertyNames.pattern) ?? KEYS));
      if (schema.maxProperties !== undefined) high = Math.min(high, schema.maxProperties);
      if (schema.minProperties !== undefined) low = Math.max(low, schema.minProperties);
    }
    for (const { schema } of open) {
      for (const [map, list] of [
        [schema.dependentRequired, true],
        [schema.dependencies, false],
      ]) {
        for (const k of Object.keys(map ?? {})) {
          if (names.has(k) && (list || Array.isArray(map[k])) && random.chance(80))
            map[k].forEach((other) => names.add(other));
        }
      }
    }
    const open_ = open.every(
      ({ schema }) => schema.additionalProperties !== false && schema.unevaluatedProperties !== false,
    );
    for (let i = 0; i < 4 && names.size < low; i++) names.add(random.pick(KEYS));
    if (open_ && random.chance(40)) names.add(random.pick(KEYS));
    const kept = random.chance(85) ? [...names].slice(0, Math.max(high, 0)) : [...names];
    const out = {};
    for (const name of kept) {
      put(
        out,
        name,
        this.satisfy(
          open.flatMap(({ schema, resource }) => this.memberParts(schema, resource, name)),
          depth - 1,
        ),
      );
    }
    return out;
  }

  memberParts(schema, resource, name) {
    const out = [];
    const push = (s) => out.push({ schema: s, resource });
    let named = false;
    if (schema.properties && Object.hasOwn(schema.properties, name)) {
      named = true;
      push(schema.properties[name]);
    }
    for (const p of Object.keys(schema.patternProperties ?? {})) {
      if (!new RegExp(p, 'u').test(name)) continue;
      named = true;
      push(schema.patternProperties[p]);
    }
    if (!named && isObject(schema.additionalProperties)) push(schema.additionalProperties);
    else if (!named && isObject(schema.unevaluatedProperties)) push(schema.unevaluatedProperties);
    return out;
  }

  // One small change somewhere in the value.
  mutate(value) {
    const { random } = this;
    if (isObject(value) && Object.keys(value).length > 0 && random.chance(85)) {
      const out = {};
      const keys = Object.keys(value);
      const chosen = random.pick(keys);
      const how = random.weighted([
        [50, 'inside'],
        [20, 'drop'],
        [15, 'add'],
        [15, 'rename'],
      ]);
      for (const k of keys) {
        if (k !== chosen) put(out, k, value[k]);
        else if (how === 'inside') put(out, k, this.mutate(value[k]));
        else if (how === 'rename') put(out, random.pick(KEYS), value[k]);
        else if (how === 'add') put(out, k, value[k]);
      }
      if (how === 'add') put(out, random.pick(KEYS), this.random_(1));
      return out;
    }
    if (Array.isArray(value) && value.length > 0 && random.chance(85)) {
      const at = random.below(value.length);
      const out = [...value];
      random.weighted([
        [
          40,
          () => {
            out[at] = this.mutate(out[at]);
          },
        ],
        [20, () => out.splice(at, 1)],
        [20, () => out.push(reordered(random.pick(value), random))],
        [10, () => out.reverse()],
        [10, () => out.push(this.random_(1))],
      ])();
      return out;
    }
    switch (typeOf(value)) {
      case 'number':
        return random.pick([
          value + 1,
          value - 1,
          -value,
          value + 0.5,
          value * 10,
          random.pick(INTEGERS),
          random.pick(DECIMALS),
          String(value),
        ]);
      case 'string':
        return random
          .pick([
            value + 'a',
            value.slice(1),
            [...value].slice(0, -1).join(''),
            value + '😀',
            value.toUpperCase(),
            scalar(random, 'string'),
          ])
          .toWellFormed();
      default:
        return this.random_(1);
    }
  }
}

// What the presence of a keyword says about the type worth building.
const HINTS = {};
for (const k of [
  'properties',
  'required',
  'patternProperties',
  'additionalProperties',
  'propertyNames',
  'dependentRequired',
  'dependentSchemas',
  'dependencies',
  'minProperties',
  'maxProperties',
  'unevaluatedProperties',
])
  HINTS[k] = 'object';
for (const k of [
  'items',
  'prefixItems',
  'additionalItems',
  'contains',
  'minItems',
  'maxItems',
  'uniqueItems',
  'unevaluatedItems',
])
  HINTS[k] = 'array';
for (const k of ['pattern', 'format', 'minLength', 'maxLength']) HINTS[k] = 'string';
for (const k of ['multipleOf', 'maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum'])
  HINTS[k] = 'number';
