// The resources of a schema document: what each $id, $anchor and JSON pointer names, per dialect.

export const DIALECTS = ['draft7', '2019-09', '2020-12'];

const META = {
  'http://json-schema.org/draft-07/schema': 'draft7',
  'https://json-schema.org/draft/2019-09/schema': '2019-09',
  'https://json-schema.org/draft/2020-12/schema': '2020-12',
};

const IN_PLACE = ['not', 'if', 'then', 'else'];
const LISTS = ['allOf', 'anyOf', 'oneOf'];

// Where a schema object holds subschemas: single, list, map; per dialect.
function places(dialect) {
  const single = [...IN_PLACE, 'additionalProperties', 'propertyNames', 'contains', 'items'];
  const list = [...LISTS];
  const map = ['properties', 'patternProperties', 'definitions'];
  if (dialect === 'draft7') map.push('dependencies');
  if (dialect !== '2020-12') {
    single.push('additionalItems');
    list.push('items');
  }
  if (dialect !== 'draft7') {
    single.push('unevaluatedItems', 'unevaluatedProperties', 'contentSchema');
    map.push('$defs', 'dependentSchemas');
  }
  if (dialect === '2020-12') list.push('prefixItems');
  return { single, list, map };
}
const PLACES = Object.fromEntries(DIALECTS.map((d) => [d, places(d)]));

export const isObject = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);
export const has = (o, k) => Object.prototype.hasOwnProperty.call(o, k);
const isSchema = (v) => typeof v === 'boolean' || isObject(v);

/// Calls visit(subschema) for each direct subschema of `schema`.
export function eachSubschema(schema, dialect, visit) {
  const { single, list, map } = PLACES[dialect];
  for (const k of single) if (has(schema, k) && isSchema(schema[k])) visit(schema[k], [k]);
  for (const k of list) {
    if (has(schema, k) && Array.isArray(schema[k])) schema[k].forEach((s, i) => visit(s, [k, i]));
  }
  for (const k of map) {
    if (!has(schema, k) || !isObject(schema[k])) continue;
    for (const name of Object.keys(schema[k])) {
      if (isSchema(schema[k][name])) visit(schema[k][name], [k, name]);
    }
  }
}

const absolute = (ref, base) => {
  try {
    return new URL(ref, base || undefined).href;
  } catch {
    if (ref.startsWith('#')) return base.split('#')[0] + ref;
    return ref;
  }
};
const split = (uri) => {
  const at = uri.indexOf('#');
  return at < 0 ? [uri, ''] : [uri.slice(0, at), uri.slice(at + 1)];
};

// Unsuitable for a verdict: the evaluation does not end, or a reference leads nowhere.
export class Unusable extends Error {}

export class Documents {
  /// `options`: dialect (where $schema is absent) and documents {uri: document} that references may reach.
  constructor(document, options) {
    this.options = options;
    this.document = document;
    this.resources = new Map();
    this.own = new Map(); // schema object → the resource it is the root of
    this.loaded = new Set();
    this.root = this.addDocument('https://reference.invalid/root', document, options.dialect);
  }

  addDocument(uri, document, dialect) {
    const resource = this.makeResource(uri, document, dialect);
    this.index(document, resource, true);
    return this.own.get(document) ?? resource;
  }

  makeResource(uri, root, dialect) {
    let noValidation = false;
    if (isObject(root) && typeof root.$schema === 'string') {
      const meta = split(root.$schema)[0];
      if (META[meta]) {
        dialect = META[meta];
      } else {
        const vocabulary = this.options.documents?.[meta]?.$vocabulary;
        if (vocabulary) noValidation = !Object.keys(vocabulary).some((v) => v.endsWith('/vocab/validation'));
      }
    }
    const resource = { uri, root, dialect, noValidation, anchors: new Map(), dynamic: new Set() };
    if (!this.resources.has(uri)) this.resources.set(uri, resource);
    if (isObject(root)) this.own.set(root, resource);
    return resource;
  }

  index(schema, resource, top = false) {
    if (!isObject(schema)) return;
    // draft-07, core 8.3: $ref's siblings are ignored, $id among them.
    const hidden = resource.dialect === 'draft7' && typeof schema.$ref === 'string';
    if (typeof schema.$id === 'string' && !hidden) {
      const [uri, fragment] = split(absolute(schema.$id, resource.uri));
      if (resource.dialect === 'draft7' && fragment && schema.$id.startsWith('#')) {
        resource.anchors.set(fragment, schema);
      } else if (uri !== resource.uri || !top) {
        const outer = resource;
        resource = this.makeResource(uri, schema, outer.dialect);
        if (resource.dialect === 'draft7' && fragment) resource.anchors.set(fragment, schema);
      }
    }
    if (resource.dialect !== 'draft7') {
      if (typeof schema.$anchor === 'string') resource.anchors.set(schema.$anchor, schema);
      if (typeof schema.$dynamicAnchor === 'string' && resource.dialect === '2020-12') {
        resource.anchors.set(schema.$dynamicAnchor, schema);
        resource.dynamic.add(schema.$dynamicAnchor);
      }
    }
    eachSubschema(schema, resource.dialect, (sub) => this.index(sub, resource));
  }

  /// {schema, resource, anchor}: what `ref` names, seen from `resource`.
  resolve(ref, resource) {
    const [uri, rawFragment] = split(absolute(ref, resource.uri));
    let target = this.resources.get(uri);
    if (!target && this.options.documents && has(this.options.documents, uri) && !this.loaded.has(uri)) {
      this.loaded.add(uri);
      this.addDocument(uri, this.options.documents[uri], resource.dialect);
      target = this.resources.get(uri);
    }
    if (!target) throw new Unusable(`no such resource: ${uri}`);
    const fragment = decodeURIComponent(rawFragment);
    if (fragment === '') return { schema: target.root, resource: target, anchor: null };
    if (!fragment.startsWith('/')) {
      if (!target.anchors.has(fragment)) throw new Unusable(`no such anchor: ${ref}`);
      return { schema: target.anchors.get(fragment), resource: target, anchor: fragment };
    }
    let schema = target.root;
    let at = target;
    for (const raw of fragment.slice(1).split('/')) {
      const part = raw.replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof schema !== 'object' || schema === null || !has(schema, part)) {
        throw new Unusable(`no such place: ${ref}`);
      }
      schema = schema[part];
      if (isObject(schema)) at = this.own.get(schema) ?? at;
    }
    if (!isSchema(schema)) throw new Unusable(`not a schema: ${ref}`);
    return { schema, resource: at, anchor: null };
  }
}
