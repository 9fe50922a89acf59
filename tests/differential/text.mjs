// JSON text with varied spelling: the same value as 1, 1.0 or 1e0, characters escaped or not, white space.

function numberText(value, random) {
  // Digits that a double does not hold would be another number to a parser that keeps integers exact.
  const inexact = Number.isInteger(value) && Math.abs(value) > 2 ** 53;
  const plain = Object.is(value, -0) ? '-0' : inexact ? value.toExponential() : String(value);
  if (!random.chance(15)) return plain;
  if (/^-?\d{1,15}$/.test(plain)) return plain + random.pick(['.0', '.00', 'e0', 'E+0', '.0e0']);
  if (/^-?\d+\.\d+$/.test(plain)) return plain + random.pick(['0', '000', 'e0', 'E-0']);
  return plain;
}

function stringText(value, random) {
  const plain = JSON.stringify(value);
  if (!random.chance(8)) return plain;
  return plain
    .replace(/[^\x00-\x7f]/g, (unit) => '\\u' + unit.charCodeAt(0).toString(16).padStart(4, '0'))
    .replaceAll('/', '\\/');
}

/// The text of `value`. Objects come as Map-free plain objects whose own keys are what counts.
export function jsonText(value, random) {
  const gap = () => (random.chance(3) ? random.pick([' ', '\n', '\t', '  ']) : '');
  if (typeof value === 'number') return numberText(value, random);
  if (typeof value === 'string') return stringText(value, random);
  if (Array.isArray(value))
    return '[' + gap() + value.map((v) => jsonText(v, random) + gap()).join(',') + ']';
  if (typeof value === 'object' && value !== null) {
    const members = Object.keys(value).map(
      (k) => stringText(k, random) + ':' + gap() + jsonText(value[k], random),
    );
    return '{' + gap() + members.join(',' + gap()) + '}';
  }
  return JSON.stringify(value);
}

/// Sets an own member even for names such as __proto__.
export function put(object, key, value) {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  return object;
}

/// An equal value whose objects list their members in another order.
export function reordered(value, random) {
  if (Array.isArray(value)) return value.map((v) => reordered(v, random));
  if (typeof value !== 'object' || value === null) return value;
  const out = {};
  for (const k of random.some(Object.keys(value), Infinity)) put(out, k, reordered(value[k], random));
  return out;
}
