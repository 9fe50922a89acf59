// A literal reading of the JSON Schema specifications, used to decide who is right when two validators disagree.
//
// It is slow and simple on purpose: every keyword is the sentence of its clause, annotations are sets, numbers
// are compared as exact decimals. reference_check.mjs holds it to every required test of the official suite.
//
// A `quirk` replaces one rule by what ajv does instead. A disagreement is explained by a quirk when the plain
// reading gives our verdict and the same reading with that one rule replaced gives ajv's.

import { isMultiple } from './decimal.mjs';
import { Documents, Unusable, has, isObject } from './documents.mjs';

/// Deep equality of JSON values, core 4.2.2: numbers by value, objects without order.
export function equal(a, b) {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((x, i) => equal(x, b[i]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((k) => has(b, k) && equal(a[k], b[k]));
}

export function typeOf(v) {
  if (v === null) return 'null';
  if (Array.isArray(v)) return 'array';
  return typeof v;
}

function hasType(v, type) {
  if (type === 'integer') return typeof v === 'number' && Number.isInteger(v);
  return typeOf(v) === type;
}

// Keywords beside unevaluatedItems and unevaluatedProperties whose annotations ajv loses or invents. A schema
// without one of them leaves the outcome as it is.
const ANNOTATING = [
  'anyOf',
  'oneOf',
  'allOf',
  'if',
  '$ref',
  '$dynamicRef',
  '$recursiveRef',
  'dependentSchemas',
];
const annotated = (schema) => ANNOTATING.some((k) => has(schema, k));

const MAX_DEPTH = 400;
const MAX_STEPS = 400_000;

export class Reference extends Documents {
  /// Options besides those of Documents: assertFormat and formats(name, text, asAjv); dependencies, whether that
  /// keyword counts in 2019-09 and later; and for the quirks alwaysValid, scriptEqual and earlierTexts.
  constructor(document, options) {
    super(document, options);
    this.regexes = new Map();
  }

  /// True or false; throws Unusable. `quirks` is a set of names; `flips` says which evaluations of a keyword in
  /// `flipped`, counted in their order, come out the other way round.
  valid(instance, { quirks = new Set(), flipped = null, flips = null } = {}) {
    this.quirks = quirks;
    this.flipped = flipped;
    this.flips = flips;
    this.occurrences = 0;
    this.depth = 0;
    this.steps = 0;
    return this.evaluate(this.document, this.root, instance, []) !== null;
  }

  // The annotations of a schema that accepts the instance, or null.
  evaluate(schema, resource, value, scope) {
    if (this.quirks.has('metaschema-draft7')) schema = this.options.earlierTexts.get(schema) ?? schema;
    if (schema === true) return { props: new Set(), items: new Set() };
    if (schema === false) return null;
    if (++this.steps > MAX_STEPS || this.depth > MAX_DEPTH) throw new Unusable('does not end');
    this.depth++;
    resource = this.own.get(schema) ?? resource;
    if (scope.at(-1) !== resource) scope = [...scope, resource];
    const result = this.keywords(schema, resource, value, scope);
    this.depth--;
    return result;
  }

  outcome(keyword, plain, open = true) {
    if (!open || !this.flipped?.has(keyword)) return plain;
    return this.flips.has(this.occurrences++) ? !plain : plain;
  }

  keywords(schema, resource, value, scope) {
    const dialect = resource.dialect;
    const quirk = (name) => this.quirks.has(name);
    const ann = { props: new Set(), items: new Set() };
    const merge = (from) => {
      if (from === null) return false;
      from.props.forEach((p) => ann.props.add(p));
      from.items.forEach((i) => ann.items.add(i));
      return true;
    };
    const sub = (s, v = value) => this.evaluate(s, resource, v, scope);
    const follow = (target) => this.evaluate(target.schema, target.resource, value, scope);

    if (typeof schema.$ref === 'string') {
      const accepted = merge(follow(this.resolve(schema.$ref, resource)));
      if (!accepted) return null;
      if (dialect === 'draft7' && !quirk('ref-siblings')) return ann;
    }
    if (dialect === '2020-12' && typeof schema.$dynamicRef === 'string') {
      const got = follow(this.dynamicTarget(schema.$dynamicRef, resource, scope));
      if (got) merge(got);
      if (!this.outcome('$dynamicRef', got !== null)) return null;
    }
    if (dialect === '2019-09' && typeof schema.$recursiveRef === 'string') {
      const got = follow(this.recursiveTarget(resource, scope));
      if (got) merge(got);
      if (!this.outcome('$recursiveRef', got !== null)) return null;
    }

    if (!resource.noValidation && !this.assertions(schema, dialect, value)) return null;

    for (const s of schema.allOf ?? []) if (!merge(sub(s))) return null;
    if (schema.anyOf && !schema.anyOf.map((s) => merge(sub(s))).some(Boolean)) return null;
    if (schema.oneOf) {
      const accepted = schema.oneOf.map((s) => sub(s)).filter((a) => a !== null);
      if (accepted.length !== 1) return null;
      merge(accepted[0]);
    }
    if (has(schema, 'not') && sub(schema.not) !== null) return null;
    if (has(schema, 'if')) {
      const taken = sub(schema.if);
      const branch = taken ? 'then' : 'else';
      const both = !has(schema, 'then') && !has(schema, 'else');
      if (taken && !(quirk('if-alone') && both)) merge(taken);
      if (has(schema, branch) && !merge(sub(schema[branch]))) return null;
    }

    if (Array.isArray(value)) {
      const accepted = this.arrayApplicators(schema, dialect, value, ann, sub);
      if (!accepted) return null;
      if (accepted === 'rest skipped') return ann;
      if (schema.uniqueItems === true && !resource.noValidation && !this.unique(schema, value)) return null;
    } else if (isObject(value)) {
      if (!this.objectApplicators(schema, resource, value, ann, sub, merge)) return null;
    }
    return ann;
  }

  dynamicTarget(ref, resource, scope) {
    const target = this.resolve(ref, resource);
    if (target.anchor === null || !target.resource.dynamic.has(target.anchor)) return target;
    const outermost = scope.find((r) => r.dynamic.has(target.anchor));
    if (!outermost) return target;
    return { schema: outermost.anchors.get(target.anchor), resource: outermost };
  }

  recursiveTarget(resource, scope) {
    const marked = (r) => isObject(r.root) && r.root.$recursiveAnchor === true;
    if (!marked(resource)) return { schema: resource.root, resource };
    const outermost = scope.find(marked) ?? resource;
    return { schema: outermost.root, resource: outermost };
  }

  same(a, b) {
    return this.quirks.has('object-prototype') ? this.options.scriptEqual(a, b) : equal(a, b);
  }

  // Whether a member that must be there is missing.
  lacks(object, key) {
    return !this.present(object, key) && !(key === '' && this.quirks.has('required-empty-name'));
  }

  present(object, key) {
    return this.quirks.has('object-prototype') ? object[key] !== undefined : has(object, key);
  }

  assertions(schema, dialect, value) {
    if (has(schema, 'type')) {
      const types = Array.isArray(schema.type) ? schema.type : [schema.type];
      if (!types.some((t) => hasType(value, t))) return false;
    }
    if (has(schema, 'const') && !this.same(value, schema.const)) return false;
    if (has(schema, 'enum') && !schema.enum.some((v) => this.same(value, v))) return false;

    if (typeof value === 'number') {
      const s = schema;
      if (has(s, 'multipleOf')) {
        const quotient = value / s.multipleOf;
        const multiple = this.quirks.has('multipleOf-binary')
          ? quotient === parseInt(quotient)
          : isMultiple(value, s.multipleOf);
        if (!multiple) return false;
      }
      if (has(s, 'maximum') && value > s.maximum) return false;
      if (has(s, 'exclusiveMaximum') && value >= s.exclusiveMaximum) return false;
      if (has(s, 'minimum') && value < s.minimum) return false;
      if (has(s, 'exclusiveMinimum') && value <= s.exclusiveMinimum) return false;
    } else if (typeof value === 'string') {
      const length = [...value].length;
      if (has(schema, 'maxLength') && length > schema.maxLength) return false;
      if (has(schema, 'minLength') && length < schema.minLength) return false;
      if (has(schema, 'pattern') && !this.matches(schema.pattern, value)) return false;
      if (has(schema, 'format') && this.options.assertFormat) {
        if (!this.options.formats(schema.format, value, this.quirks.has('format-suite'))) return false;
      }
    } else if (Array.isArray(value)) {
      if (has(schema, 'maxItems') && value.length > schema.maxItems) return false;
      if (has(schema, 'minItems') && value.length < schema.minItems) return false;
    } else if (isObject(value)) {
      const count = Object.keys(value).length;
      if (has(schema, 'maxProperties') && count > schema.maxProperties) return false;
      if (has(schema, 'minProperties') && count < schema.minProperties) return false;
      for (const name of schema.required ?? []) if (this.lacks(value, name)) return false;
      const dependent = dialect === 'draft7' ? {} : (schema.dependentRequired ?? {});
      for (const name of Object.keys(dependent)) {
        if (!this.present(value, name)) continue;
        if (dependent[name].some((other) => this.lacks(value, other))) return false;
      }
    }
    return true;
  }

  matches(pattern, text) {
    let regex = this.regexes.get(pattern);
    if (!regex) this.regexes.set(pattern, (regex = new RegExp(pattern, 'u')));
    return regex.test(text);
  }

  unique(schema, value) {
    if (this.quirks.has('uniqueItems-typed') && isObject(schema.items)) {
      const types = [schema.items.type ?? []].flat();
      if (types.length > 0 && !types.includes('object') && !types.includes('array')) {
        value = value.filter((v) => types.some((t) => hasType(v, t)) && v !== '__proto__');
      }
    }
    return value.every((v, i) => value.slice(i + 1).every((w) => !this.same(v, w)));
  }

  arrayApplicators(schema, dialect, value, ann, sub) {
    const apply = (s, from, to) => {
      for (let i = from; i < to; i++) {
        if (sub(s, value[i]) === null) return false;
        ann.items.add(i);
      }
      return true;
    };
    const tuple = dialect === '2020-12' ? schema.prefixItems : Array.isArray(schema.items) && schema.items;
    const covered = Math.min(tuple ? tuple.length : 0, value.length);
    const first = tuple ? tuple.findIndex((s) => !this.options.alwaysValid(s)) : -1;
    if (first >= value.length && this.outcome('tuple on short array', false)) return 'rest skipped';
    for (let i = 0; i < covered; i++) if (!apply(tuple[i], i, i + 1)) return false;
    if (has(schema, 'items') && !Array.isArray(schema.items)) {
      if (!apply(schema.items, dialect === '2020-12' ? covered : 0, value.length)) return false;
    }
    if (dialect !== '2020-12' && Array.isArray(schema.items) && has(schema, 'additionalItems')) {
      if (!apply(schema.additionalItems, covered, value.length)) return false;
    }
    if (has(schema, 'contains')) {
      const found = value.map((v, i) => (sub(schema.contains, v) === null ? -1 : i)).filter((i) => i >= 0);
      const counted = dialect !== 'draft7';
      const least = counted && has(schema, 'minContains') ? schema.minContains : 1;
      const enough = value.length > 0 ? found.length >= least : this.outcome('contains on []', least === 0);
      if (!enough) return false;
      if (counted && has(schema, 'maxContains') && found.length > schema.maxContains) return false;
      if (this.quirks.has('contains-evaluates')) {
        if (!(least === 0 && !has(schema, 'maxContains')) && !this.options.alwaysValid(schema.contains)) {
          value.forEach((_, i) => ann.items.add(i));
        }
      } else if (dialect === '2020-12') {
        found.forEach((i) => ann.items.add(i));
      }
    }
    if (dialect !== 'draft7' && has(schema, 'unevaluatedItems')) {
      const left = value.map((_, i) => i).filter((i) => !ann.items.has(i));
      const plain = left.every((i) => sub(schema.unevaluatedItems, value[i]) !== null);
      if (!this.outcome('unevaluatedItems', plain, annotated(schema))) return false;
      left.forEach((i) => ann.items.add(i));
    }
    return true;
  }

  objectApplicators(schema, resource, value, ann, sub, merge) {
    const dialect = resource.dialect;
    const keys = Object.keys(value);
    const defined = new Set(Object.keys(schema.properties ?? {}));
    if (this.quirks.has('object-prototype')) defined.delete('__proto__');
    const matched = new Set();
    for (const name of defined) {
      if (!this.present(value, name)) continue;
      if (sub(schema.properties[name], value[name]) === null) return false;
      matched.add(name);
    }
    for (const pattern of Object.keys(schema.patternProperties ?? {})) {
      for (const name of keys) {
        if (!this.matches(pattern, name)) continue;
        if (sub(schema.patternProperties[pattern], value[name]) === null) return false;
        matched.add(name);
      }
    }
    if (has(schema, 'additionalProperties')) {
      for (const name of keys) {
        if (matched.has(name)) continue;
        if (sub(schema.additionalProperties, value[name]) === null) return false;
        matched.add(name);
      }
    }
    matched.forEach((name) => ann.props.add(name));
    if (has(schema, 'propertyNames')) {
      if (!keys.every((name) => sub(schema.propertyNames, name) !== null)) return false;
    }
    const dependencies =
      dialect === 'draft7' || this.options.dependencies || this.quirks.has('dependencies-kept');
    for (const name of Object.keys((dependencies && schema.dependencies) || {})) {
      if (!this.present(value, name)) continue;
      if (name === '__proto__' && this.quirks.has('object-prototype')) continue;
      const need = schema.dependencies[name];
      if (Array.isArray(need) ? need.some((o) => this.lacks(value, o)) : !merge(sub(need))) return false;
    }
    for (const name of Object.keys((dialect !== 'draft7' && schema.dependentSchemas) || {})) {
      if (this.present(value, name) && !merge(sub(schema.dependentSchemas[name]))) return false;
    }
    if (dialect !== 'draft7' && has(schema, 'unevaluatedProperties')) {
      // ajv looks evaluated names up in a plain object.
      const inherited =
        this.quirks.has('object-prototype') && (annotated(schema) || has(schema, 'patternProperties'));
      const left = keys.filter((name) => !ann.props.has(name) && !(inherited && name in Object.prototype));
      const plain = left.every((name) => sub(schema.unevaluatedProperties, value[name]) !== null);
      if (!this.outcome('unevaluatedProperties', plain, annotated(schema))) return false;
      left.forEach((name) => ann.props.add(name));
    }
    return true;
  }
}
