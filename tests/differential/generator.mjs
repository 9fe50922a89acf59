// Random schemas that every dialect's metaschema accepts and whose references always make progress.
//
// Each schema features one keyword, so that all of them occur equally often; the rest of it is chance.

import { formatNames } from './formats.mjs';
import { ANNOTATE, BY_TYPE, COMBINE, FOREIGN, WIDE, keywordsOf } from './keywords.mjs';
import { DECIMALS, INTEGERS, KEYS, PATTERNS, SCRIPT_KEYS, STEPS, STRINGS, TYPES, scalar } from './pools.mjs';
import { dynamicTemplate, recursiveTemplate, wideTemplate } from './templates.mjs';
import { put } from './text.mjs';

const MAX_DEPTH = 3;

const META = {
  draft7: 'http://json-schema.org/draft-07/schema#',
  '2019-09': 'https://json-schema.org/draft/2019-09/schema',
  '2020-12': 'https://json-schema.org/draft/2020-12/schema',
};

const ROOT_ID = 'https://example.com/schemas/root.json';
const DEF_NAMES = ['item', 'node', 'a/b', 'm~n', 'p%q', 'sp ace', 'é'];
const pointerPart = (name) => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));

export class SchemaGenerator {
  constructor(random, dialect) {
    this.random = random;
    this.dialect = dialect;
    this.known = new Set(keywordsOf(dialect));
    // JavaScript's own names make ajv stumble: a class of its own, in few schemas.
    this.keys = random.chance(4) ? [...KEYS.slice(0, 5), ...SCRIPT_KEYS] : KEYS;
  }

  /// {schema, format}: a document that features `keyword`, and whether formats are asserted.
  generate(keyword) {
    const { random, dialect } = this;
    this.pending = [];
    this.defs = [];
    this.format = keyword === 'format' || random.chance(15);
    this.based = keyword === '$id' || random.chance(15);
    let schema;
    const recursive = dialect === '2019-09' && (keyword.startsWith('$recursive') || random.chance(4));
    const dynamic = dialect === '2020-12' && (keyword.startsWith('$dynamic') || random.chance(4));
    if (recursive) schema = recursiveTemplate(this);
    else if (dynamic) schema = dynamicTemplate(this);
    else if (WIDE.includes(keyword) && random.chance(20)) schema = wideTemplate(this, keyword);
    else schema = this.document(keyword);
    if (typeof schema === 'object' && (keyword === '$schema' || random.chance(30))) {
      schema = { $schema: META[dialect], ...schema };
    }
    return { schema, format: this.format };
  }

  /// A schema for schemas: whatever generate() makes is a valid instance of it.
  metaschema() {
    return { $ref: META[this.dialect] };
  }

  document(keyword) {
    const { random } = this;
    if (keyword === 'boolean schema' && random.chance(5)) return random.chance(50);
    this.planDefs(['$ref', '$id', '$anchor', '$defs', 'definitions'].includes(keyword) ? 1 : 0, keyword);
    const at = { steps: 0, def: -1 };
    const depth = random.chance(50) ? 0 : 1;
    let schema = this.node(depth, at, keyword);
    if (typeof schema === 'boolean') schema = { allOf: [schema] };
    if (random.chance(20)) schema = this.wrap(schema);
    if (this.based && this.dialect === 'draft7' && schema.$ref !== undefined) schema = { allOf: [schema] };
    if (this.based) schema.$id = ROOT_ID;
    this.defs.forEach((def, i) => this.fillDef(schema, def, i));
    this.settle(schema);
    return schema;
  }

  // The featured schema one instance step down, so that it is met in context.
  wrap(schema) {
    const { random } = this;
    return random.pick([
      () => ({ type: 'object', properties: put({}, random.pick(KEYS), schema) }),
      () => ({ items: schema }),
      () => ({ additionalProperties: schema }),
      () => ({ anyOf: [this.leaf(), schema] }),
      () => ({ allOf: [schema, this.leaf()] }),
    ])();
  }

  planDefs(least, keyword) {
    const { random } = this;
    const names = random.some(
      DEF_NAMES,
      Math.max(
        least,
        random.weighted([
          [60, 0],
          [25, 1],
          [15, 2],
        ]),
      ),
    );
    this.defs = names.map((name, i) => {
      const inDefs = keyword === 'definitions' ? false : this.dialect !== 'draft7' && random.chance(75);
      const anchor = keyword === '$anchor' || random.chance(30) ? `anc${i}` : null;
      const named = this.based && (keyword === '$id' || random.chance(40));
      const id = named && !(anchor && this.dialect === 'draft7') ? `part${i}.json` : null;
      return { name, home: inDefs ? '$defs' : 'definitions', anchor, id, uses: 0 };
    });
    if (keyword === '$ref') this.mustRef = true;
  }

  fillDef(root, def, index) {
    let schema = this.node(1, { steps: 0, def: index }, null);
    // An identifier counts only where siblings of $ref do. The object itself is kept: its $ref may still wait.
    const bare = typeof schema === 'boolean' || (this.dialect === 'draft7' && schema.$ref !== undefined);
    if (bare && (def.anchor || def.id)) schema = { allOf: [schema] };
    if (def.id) schema.$id = def.id;
    if (def.anchor)
      Object.assign(schema, this.dialect === 'draft7' ? { $id: `#${def.anchor}` } : { $anchor: def.anchor });
    if (!Object.hasOwn(root, def.home)) put(root, def.home, {});
    put(root[def.home], def.name, schema);
  }

  // The root as seen from inside definition number `from`: a definition with an $id is a resource of its own.
  home(from) {
    return this.defs[from]?.id ? this.random.pick(['root.json', ROOT_ID]) : '';
  }

  refTo(def, from) {
    const { random } = this;
    const base = def.id ? random.pick([def.id, `https://example.com/schemas/${def.id}`]) : this.home(from);
    const ways = [`${this.home(from)}#/${def.home}/${pointerPart(def.name)}`];
    if (def.id) ways.push(base);
    if (def.anchor) ways.push(`${base}#${def.anchor}`);
    return random.pick(ways);
  }

  // References get their text when the whole document stands.
  settle(root) {
    for (const { holder, target, at } of this.pending) {
      if (target === '#place') {
        const places = this.places(root, at.steps);
        holder.$ref = this.home(at.def) + (places.length > 0 ? this.random.pick(places) : '#');
      } else {
        holder.$ref = this.refTo(target, at.def);
      }
    }
  }

  // Subschemas of the root that a reference `steps` instance steps away from it can name and still make progress.
  places(root, steps) {
    const found = [];
    if (Object.hasOwn(root, 'not')) found.push('#/not');
    for (const k of ['allOf', 'anyOf']) (root[k] ?? []).forEach((_, i) => found.push(`#/${k}/${i}`));
    if (steps < 2) return found;
    for (const k of Object.keys(root.properties ?? {})) found.push(`#/properties/${pointerPart(k)}`);
    for (const k of ['additionalProperties', 'items', 'contains']) {
      if (Object.hasOwn(root, k) && !Array.isArray(root[k])) found.push(`#/${k}`);
    }
    return found;
  }

  // In place, a reference only leads to a later definition; after a step in the instance, anywhere. So none loops.
  reference(at) {
    const { random } = this;
    const later = this.defs.filter((_, i) => i > at.def);
    const targets = at.steps > 0 ? [...this.defs, '#', '#place'] : later;
    if (targets.length === 0) return null;
    const target = random.pick(targets);
    const holder = { $ref: '#' };
    if (target !== '#') this.pending.push({ holder, target, at });
    if (at.steps > 0 && target !== '#' && random.chance(2)) {
      this.pending.pop();
      holder.$ref = META[this.dialect];
    }
    return holder;
  }

  key() {
    return this.random.pick(this.keys);
  }

  // A subschema. `inward` says that it looks at a part of the instance.
  sub(depth, at, inward = false, featured = null) {
    return this.node(depth + 1, inward ? { ...at, steps: at.steps + 1 } : at, featured);
  }

  leaf() {
    const { random } = this;
    const s = {};
    const type = random.pick(TYPES);
    if (random.chance(55)) s.type = random.chance(80) ? type : random.some(TYPES, random.between(1, 3));
    if (random.chance(45)) {
      const group = type === 'integer' || type === 'number' ? 'number' : type === 'string' ? 'string' : null;
      if (group)
        this.add(s, random.pick(BY_TYPE[group].filter((k) => k !== 'contentSchema')), MAX_DEPTH + 1, {});
    }
    if (random.chance(12)) this.add(s, random.pick(['enum', 'const']), MAX_DEPTH, {});
    return s;
  }

  node(depth, at, featured) {
    const { random } = this;
    if (featured === 'boolean schema' && depth > 0) return random.chance(50);
    if (featured === null) {
      if (depth > MAX_DEPTH) return this.leaf();
      const boolean = depth > 0 ? 5 : 0;
      if (random.chance(boolean)) return random.chance(70);
      if (random.chance(3)) return {};
    }
    const wantRef = featured === '$ref' || (this.mustRef && featured === null && random.chance(30));
    if (wantRef || (featured === null && random.chance(10))) {
      const ref = this.reference(at);
      if (ref) {
        if (random.chance(30)) this.decorate(ref, depth, at);
        return ref;
      }
    }
    const s = {};
    const group =
      this.groupOf(featured) ??
      random.weighted([
        [15, 'number'],
        [15, 'string'],
        [30, 'array'],
        [40, 'object'],
      ]);
    if (random.chance(45)) s.type = group === 'number' && random.chance(40) ? 'integer' : group;
    else if (random.chance(15)) s.type = random.some(TYPES, random.between(1, 4));
    if (featured) this.add(s, featured, depth, at);
    const usable = BY_TYPE[group].filter((k) => this.known.has(k));
    for (const k of random.some(
      usable,
      random.weighted([
        [20, 0],
        [40, 1],
        [30, 2],
        [10, 3],
      ]),
    ))
      this.add(s, k, depth, at);
    this.decorate(s, depth, at);
    return s;
  }

  groupOf(keyword) {
    return Object.keys(BY_TYPE).find((g) => BY_TYPE[g].includes(keyword)) ?? null;
  }

  decorate(s, depth, at) {
    const { random } = this;
    if (depth <= MAX_DEPTH && random.chance(depth === 0 ? 40 : 18))
      this.add(s, random.pick(COMBINE), depth, at);
    if (random.chance(10)) this.add(s, random.pick(ANNOTATE), depth, at);
    if (random.chance(6)) this.add(s, random.pick(['enum', 'const', 'type']), depth, at);
    if (random.chance(12)) this.add(s, random.pick(Object.values(BY_TYPE).flat()), depth, at);
    // A keyword of another dialect must not count.
    if (random.chance(3)) this.add(s, random.pick(FOREIGN), depth, at, true);
  }

  value() {
    const { random } = this;
    const type = random.pick(TYPES);
    if (type === 'array')
      return Array.from({ length: random.below(3) }, () => scalar(random, random.pick(TYPES.slice(0, 5))));
    if (type === 'object') {
      const o = {};
      for (const k of random.some(this.keys, random.below(3)))
        put(o, k, random.chance(80) ? scalar(random, random.pick(TYPES.slice(0, 5))) : [0, {}]);
      return o;
    }
    return scalar(random, type);
  }

  add(s, keyword, depth, at, foreign = false) {
    const { random } = this;
    if (!foreign && !this.known.has(keyword)) return;
    if (foreign && (this.known.has(keyword) || Object.hasOwn(s, keyword))) return;
    const set = (k, v) => {
      if (!Object.hasOwn(s, k)) s[k] = v;
    };
    const number = () => random.pick(random.chance(50) ? INTEGERS : DECIMALS);
    const list = (low, high, make) => Array.from({ length: random.between(low, high) }, make);
    const names = (low, high) => random.some(this.keys, random.between(low, high));
    const step = () => this.sub(depth, at, true);
    const here = () => this.sub(depth, at);
    // A foreign keyword holds no references: nobody would follow them.
    const plain = () => this.leaf();
    switch (keyword) {
      case 'type':
        return set('type', random.chance(70) ? random.pick(TYPES) : random.some(TYPES, random.between(1, 4)));
      case 'enum':
        return set('enum', this.distinct(list(1, 4, () => this.value())));
      case 'const':
        return set('const', this.value());
      case 'multipleOf':
        return set('multipleOf', random.pick(STEPS));
      case 'maximum':
      case 'exclusiveMaximum':
      case 'minimum':
      case 'exclusiveMinimum':
        return set(keyword, number());
      case 'maxLength':
      case 'maxItems':
      case 'maxProperties':
        return set(keyword, random.between(0, 4));
      case 'minLength':
      case 'minItems':
      case 'minProperties':
        return set(keyword, random.between(0, 3));
      case 'pattern':
        return set('pattern', random.pick(PATTERNS)[0]);
      case 'format':
        return set('format', random.chance(96) ? random.pick(formatNames(this.dialect)) : 'no-such-format');
      case 'contentEncoding':
        return set('contentEncoding', 'base64');
      case 'contentMediaType':
        return set('contentMediaType', 'application/json');
      case 'contentSchema':
        set('contentMediaType', 'application/json');
        return set('contentSchema', plain());
      case 'items':
        return set('items', this.dialect !== '2020-12' && random.chance(35) ? list(1, 3, step) : step());
      case 'prefixItems':
        return set('prefixItems', list(1, 3, foreign ? plain : step));
      case 'additionalItems':
        if (!foreign && random.chance(85)) set('items', list(1, 3, step));
        return set('additionalItems', foreign ? plain() : random.chance(30) ? false : step());
      case 'contains':
        return set('contains', step());
      case 'minContains':
      case 'maxContains':
        if (!foreign && random.chance(85)) set('contains', step());
        return set(keyword, random.between(0, 3));
      case 'uniqueItems':
        return set('uniqueItems', random.chance(90));
      case 'unevaluatedItems':
      case 'unevaluatedProperties':
        if (random.chance(50)) this.add(s, random.pick(['allOf', 'anyOf', 'oneOf', 'if', 'then']), depth, at);
        return set(keyword, random.chance(65) ? false : step());
      case 'properties':
      case 'patternProperties':
      case 'dependentSchemas': {
        const map = {};
        const keys =
          keyword === 'patternProperties'
            ? random.some(PATTERNS, random.between(1, 2)).map((p) => p[0])
            : names(1, 3);
        for (const k of keys) put(map, k, keyword === 'dependentSchemas' ? here() : step());
        return set(keyword, map);
      }
      case 'additionalProperties':
        return set('additionalProperties', random.chance(45) ? false : step());
      case 'propertyNames':
        return set('propertyNames', random.chance(60) ? { pattern: random.pick(PATTERNS)[0] } : step());
      case 'required':
        return set('required', names(0, 3));
      case 'dependentRequired': {
        const map = {};
        for (const k of names(1, 2)) put(map, k, names(0, 2));
        return set('dependentRequired', map);
      }
      case 'dependencies': {
        const map = {};
        for (const k of names(1, 3))
          put(map, k, random.chance(50) ? names(0, 2) : foreign ? plain() : here());
        return set('dependencies', map);
      }
      case 'allOf':
      case 'anyOf':
      case 'oneOf':
        return set(keyword, list(1, 3, here));
      case 'not':
        return set('not', here());
      case 'if':
        set('if', here());
        if (random.chance(70)) set('then', here());
        if (random.chance(60)) set('else', here());
        return undefined;
      case 'then':
      case 'else':
        if (random.chance(85)) set('if', here());
        return set(keyword, here());
      case 'title':
      case 'description':
      case '$comment':
        return set(keyword, random.pick(STRINGS));
      case 'default':
        return set('default', this.value());
      case 'examples':
        return set(
          'examples',
          list(0, 2, () => this.value()),
        );
      case 'deprecated':
      case 'readOnly':
      case 'writeOnly':
        return set(keyword, random.chance(50));
      default:
        return undefined; // placed by the document: $ref, $id, $anchor, $defs, definitions, $schema
    }
  }

  distinct(values) {
    const seen = new Set();
    return values.filter((v) => {
      const text = JSON.stringify(v);
      return !seen.has(text) && seen.add(text);
    });
  }
}
