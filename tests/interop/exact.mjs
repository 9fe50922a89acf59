// JSON whose integers stay what they are: beyond 2^53 they are read as BigInt, and written by raw().
//
// The clients read with JSON.parse, which rounds them. install() gives them one that does not, so that a cell sees what
// the server really wrote.
const parse = JSON.parse;
const whole = /^-?\d+$/;

function keep(reviver) {
  return function (key, value, context) {
    const exact =
      typeof value === 'number' && !Number.isSafeInteger(value) && whole.test(context?.source ?? '') ? BigInt(context.source) : value;
    return reviver ? reviver.call(this, key, exact, context) : exact;
  };
}

export function install() {
  JSON.parse = (text, reviver) => parse(text, keep(reviver));
}

/// A value that JSON.stringify writes with just these digits.
export const raw = digits => JSON.rawJSON(digits);

/// One text for equal values: members in the order of their names, numbers with all their digits.
export function text(value) {
  if (typeof value === 'bigint') return `${value}`;
  if (value === undefined) return 'undefined';
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(text).join(',')}]`;
  const members = Object.keys(value).filter(key => value[key] !== undefined).sort();
  return `{${members.map(key => `${JSON.stringify(key)}:${text(value[key])}`).join(',')}}`;
}

export class Mismatch extends Error {
  constructor(expected, seen, what) {
    super(what ?? 'not what was expected');
    this.expected = typeof expected === 'string' ? expected : text(expected);
    this.seen = typeof seen === 'string' ? seen : text(seen);
  }
}

export function same(seen, expected, what) {
  if (text(seen) !== text(expected)) throw new Mismatch(text(expected), text(seen), what);
}
