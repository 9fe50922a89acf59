// Documents that random nesting seldom makes. References decided while an instance is judged start from the shapes
// that people write: extensible trees, generic lists, plain recursion. Wide documents have many members, values,
// items or branches, where a validator may take another path.

const HOME = 'https://example.com/dynamic/';

/// 2020-12: $dynamicRef and $dynamicAnchor.
export function dynamicTemplate(g) {
  const { random } = g;
  const part = () => g.sub(2, { steps: 0, def: 99 }, true);
  const anchor = random.pick(['node', 'T', 'items']);
  const jump = () => ({ $dynamicRef: `#${anchor}` });
  const maybe = (percent, key, value) => (random.chance(percent) ? { [key]: value } : {});
  return random.weighted([
    [
      40,
      () => ({
        $dynamicAnchor: anchor,
        type: random.pick(['object', ['object', 'integer']]),
        properties: { a: jump(), b: { type: 'array', items: jump() }, c: part() },
        ...maybe(40, 'additionalProperties', false),
        ...maybe(30, 'required', ['c']),
      }),
    ],
    [
      20,
      () => ({
        $id: `${HOME}strict.json`,
        $dynamicAnchor: anchor,
        $ref: 'tree.json',
        ...maybe(70, 'unevaluatedProperties', false),
        $defs: {
          tree: {
            $id: 'tree.json',
            ...(random.chance(85) ? { $dynamicAnchor: anchor } : { $anchor: anchor }),
            type: 'object',
            properties: { a: part(), b: { type: 'array', items: jump() } },
          },
        },
      }),
    ],
    [
      20,
      () => ({
        $id: `${HOME}list-of.json`,
        $ref: 'list.json',
        $defs: {
          element: {
            ...(random.chance(80) ? { $dynamicAnchor: anchor } : { $anchor: anchor }),
            type: random.pick(['string', 'integer']),
          },
          list: {
            $id: 'list.json',
            type: 'array',
            items: jump(),
            $defs: {
              any: {
                ...(random.chance(85) ? { $dynamicAnchor: anchor } : { $anchor: anchor }),
                ...maybe(40, 'minLength', 2),
              },
            },
          },
        },
      }),
    ],
    [
      20,
      () => ({
        type: 'array',
        items: jump(),
        ...maybe(50, 'prefixItems', [part()]),
        $defs: {
          element: {
            [random.pick(['$dynamicAnchor', '$anchor'])]: anchor,
            type: random.pick(['string', 'object', 'integer']),
          },
        },
      }),
    ],
  ])();
}

/// 2019-09: $recursiveRef and $recursiveAnchor.
export function recursiveTemplate(g) {
  const { random } = g;
  const part = () => g.sub(2, { steps: 0, def: 99 }, true);
  const jump = () => ({ $recursiveRef: '#' });
  const mark = () =>
    random.weighted([
      [60, { $recursiveAnchor: true }],
      [20, { $recursiveAnchor: false }],
      [20, {}],
    ]);
  const maybe = (percent, key, value) => (random.chance(percent) ? { [key]: value } : {});
  return random.weighted([
    [
      55,
      () => ({
        ...mark(),
        type: random.pick(['object', ['object', 'integer']]),
        properties: { a: jump(), b: { type: 'array', items: jump() }, c: part() },
        ...maybe(40, 'additionalProperties', false),
        ...maybe(30, 'required', ['c']),
      }),
    ],
    [
      30,
      () => ({
        $id: `${HOME}strict.json`,
        ...mark(),
        $ref: 'tree.json',
        ...maybe(70, 'unevaluatedProperties', false),
        $defs: {
          tree: {
            $id: 'tree.json',
            ...mark(),
            type: 'object',
            properties: { a: part(), b: { type: 'array', items: jump() } },
          },
        },
      }),
    ],
    [
      15,
      () => ({
        $id: `${HOME}outer.json`,
        ...mark(),
        properties: { foo: { $ref: 'inner.json' } },
        $defs: {
          inner: {
            $id: 'inner.json',
            ...mark(),
            anyOf: [
              { type: random.pick(['integer', 'string']) },
              { type: 'object', additionalProperties: jump() },
            ],
          },
        },
      }),
    ],
  ])();
}

/// Many members, values, items or branches for `keyword`.
export function wideTemplate(g, keyword) {
  const { random } = g;
  const count = random.between(10, 40);
  const names = Array.from({ length: count }, (_, i) => random.pick(['k', 'name', 'é']) + i);
  const properties = () => Object.fromEntries(names.map((name) => [name, g.leaf()]));
  switch (keyword) {
    case 'enum':
      return { enum: g.distinct(Array.from({ length: count * 2 }, () => g.value())) };
    case 'uniqueItems':
      return {
        type: 'array',
        minItems: count,
        uniqueItems: true,
        ...(random.chance(50) ? { items: g.leaf() } : {}),
      };
    case 'oneOf':
    case 'anyOf':
      return {
        type: 'object',
        [keyword]: names.slice(0, 12).map((name) => ({
          properties: { kind: { const: name }, a: g.leaf() },
          required: random.chance(80) ? ['kind'] : ['kind', 'a'],
        })),
      };
    default:
      return {
        properties: properties(),
        required: random.some(names, random.chance(50) ? 3 : count - 2),
        ...(random.chance(30) ? { patternProperties: { '^k': g.leaf() } } : {}),
        ...(keyword === 'unevaluatedProperties' && g.dialect !== 'draft7'
          ? { unevaluatedProperties: false }
          : {}),
        ...(keyword === 'additionalProperties' ? { additionalProperties: false } : {}),
      };
  }
}
