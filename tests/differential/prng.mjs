// A small seeded generator (sfc32), so that a seed means the same pairs on every machine.

export class Prng {
  constructor(seed) {
    let h = 0x9e3779b9 ^ (Number(seed) >>> 0);
    const next = () => {
      h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
      h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
      return (h = ((h ^ (h >>> 16)) + 0x6d2b79f5) | 0) >>> 0;
    };
    [this.a, this.b, this.c, this.d] = [next(), next(), next(), 1];
    for (let i = 0; i < 16; i++) this.word();
  }

  word() {
    const t = (((this.a + this.b) | 0) + this.d) | 0;
    this.d = (this.d + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (this.c << 21) | (this.c >>> 11);
    this.c = (this.c + t) | 0;
    return t >>> 0;
  }

  /// An integer in [0, n).
  below(n) {
    return Math.floor((this.word() / 4294967296) * n);
  }

  between(low, high) {
    return low + this.below(high - low + 1);
  }

  chance(percent) {
    return this.below(100) < percent;
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  /// `count` different entries of `list`.
  some(list, count) {
    const left = [...list];
    const out = [];
    while (out.length < count && left.length > 0) out.push(left.splice(this.below(left.length), 1)[0]);
    return out;
  }

  /// The value of one [weight, value] entry.
  weighted(entries) {
    let at = this.below(entries.reduce((sum, [w]) => sum + w, 0));
    for (const [weight, value] of entries) {
      at -= weight;
      if (at < 0) return value;
    }
    return entries.at(-1)[1];
  }
}
