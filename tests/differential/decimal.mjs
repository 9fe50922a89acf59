// Exact decimal arithmetic on JSON numbers: a number means its shortest decimal spelling.

// value = digits × 10^exponent
function decimal(value) {
  const [mantissa, exponent = '0'] = String(value).split('e');
  const [whole, fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

/// Validation 6.2.1: does division of `value` by `step` give an integer?
export function isMultiple(value, step) {
  const a = decimal(value);
  const b = decimal(step);
  const least = Math.min(a.exponent, b.exponent);
  const scaled = (d) => d.digits * 10n ** BigInt(d.exponent - least);
  return scaled(a) % scaled(b) === 0n;
}
