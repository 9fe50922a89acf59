// The values that schemas and instances are built from: few, so that they meet, and awkward on purpose.

export const KEYS = [
  'a',
  'b',
  'c',
  'foo',
  'bar',
  'id',
  'x-1',
  'x-2',
  '0',
  '',
  'é',
  '😀',
  'a b',
  'a/b',
  'm~n',
  '%25',
];

// Names that every JavaScript object seems to have.
export const SCRIPT_KEYS = ['toString', '__proto__', 'constructor', 'valueOf'];

export const STRINGS = [
  '',
  'a',
  'ab',
  'abc',
  'aab',
  'foo',
  'bar',
  'foobar',
  'foo bar',
  'x-1',
  'B',
  'É',
  'é',
  'e\u0301',
  '日本',
  '😀',
  '😀😀',
  'a😀b',
  '123',
  '12',
  '1',
  'true',
  'null',
  ' ',
  '\t',
  'a\nb',
  '\u00a0',
  '\u2028',
  '\u0000',
  '_',
  '-',
  '$',
  'a-b',
  'a/b',
  '\u{10ffff}',
];

export const INTEGERS = [0, 1, 2, 3, 4, 5, 7, 10, 12, 100, -1, -2, -3, -10, 255, 1000, 1e6];
export const LARGE = [
  9007199254740991, -9007199254740991, 9007199254740992, 9007199254740990, 4294967296, 2147483648,
  -2147483649, 1e15, 123456789012345, 1e21, 1e300, -1e300,
];
export const DECIMALS = [
  0.1, 0.2, 0.3, 0.5, 0.7, 1.1, 1.5, 2.5, 3.3, 0.01, 0.07, 0.29, 1.13, 4.35, 8.2, 19.99, 99.9, -0.1, -1.5,
  -0.3, 1e-7, 3e-7, 0.0075, 123456.789, 5e-324,
];
export const STEPS = [1, 2, 3, 7, 10, 0.1, 0.01, 0.5, 1.5, 2.5, 0.3, 0.0001, 1e-7, 0.07, 1e-8, 1e10];

// Patterns with texts that match them.
export const PATTERNS = [
  ['^[a-z]+$', ['a', 'abc', 'foo']],
  ['^\\d{3}$', ['123', '007']],
  ['foo|bar', ['foo', 'bar', 'foobar']],
  ['^.{2}$', ['ab', '日本', '😀😀', '12']],
  ['\\p{L}', ['é', 'a', '日本']],
  ['^\\S+$', ['abc', '😀', 'x-1']],
  ['\\s', [' ', '\u00a0', 'foo bar', '\u2028', '\t']],
  ['[^a]', ['b', 'ab', '😀']],
  ['^a*b?$', ['', 'a', 'aab', 'ab']],
  ['\\u00e9', ['é']],
  ['^x-', ['x-1', 'x-2']],
  ['^\\w+$', ['foo', '_', '12', 'B']],
  ['\\$', ['$']],
  ['^$', ['']],
  ['a{2,3}', ['aab', 'aaa']],
  ['^(?:[a-z]+-)*[a-z]+$', ['a-b', 'foo', 'a-b-c']],
  ['^[\\u{1F600}-\\u{1F64F}]+$', ['😀', '😀😀']],
  ['\\bfoo\\b', ['foo', 'foo bar']],
  ['^\\p{Lu}', ['B', 'É']],
  ['^[^\\d\\s]+$', ['abc', '日本', '-']],
  ['^(a|b)(c|é)?$', ['a', 'b', 'ac', 'bé']],
  ['\\/', ['a/b', '/']],
  ['.', ['a', '😀', ' ']],
  ['[a-c]\\B', ['ab', 'abc']],
  ['^[+-]?\\d+(?:\\.\\d+)?$', ['1', '-1.5', '+12']],
  ['\\x61\\u{62}', ['ab', 'abc']],
  ['\\D$', ['a', '1a', '']],
  ['^\\W*$', ['', '-', '😀', 'é']],
];

/// One of the members of an awkward pool, as fits `type`.
export function scalar(random, type) {
  switch (type) {
    case 'null':
      return null;
    case 'boolean':
      return random.chance(50);
    case 'integer':
      return random.chance(85) ? random.pick(INTEGERS) : random.pick(LARGE.filter(Number.isInteger));
    case 'number':
      return random.weighted(
        [
          [40, INTEGERS],
          [45, DECIMALS],
          [10, LARGE],
          [5, [-0, 0]],
        ].map(([w, l]) => [w, random.pick(l)]),
      );
    default:
      return random.pick(STRINGS);
  }
}

export const TYPES = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object'];
