// Smaller samples: greedily drop or simplify parts of the schema and the instance while `still` says that the
// disagreement is there.

const MAX_TRIES = 400;

// Every copy of `value` with one part removed or replaced by something simpler.
function* smaller(value, isSchema) {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      yield value.filter((_, j) => j !== i);
      for (const v of smaller(value[i], isSchema)) yield value.map((w, j) => (j === i ? v : w));
    }
  } else if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    for (const [key] of entries) yield Object.fromEntries(entries.filter(([k]) => k !== key));
    for (const [key, member] of entries) {
      if (isSchema && typeof member === 'object' && member !== null && !Array.isArray(member)) {
        yield Object.fromEntries(entries.map(([k, v]) => [k, k === key ? true : v]));
      }
      for (const m of smaller(member, isSchema))
        yield Object.fromEntries(entries.map(([k, v]) => [k, k === key ? m : v]));
    }
  }
}

/// The smallest sample found, as `still(schema, instance)` gave it, or null.
export async function shrink(schema, instance, still) {
  let best = null;
  let tries = 0;
  for (let again = true; again && tries < MAX_TRIES;) {
    again = false;
    for (const [s, i] of candidates(schema, instance)) {
      if (++tries > MAX_TRIES) break;
      const found = await still(s, i);
      if (!found) continue;
      [best, schema, instance, again] = [found, s, i, true];
      break;
    }
  }
  return best;
}

function* candidates(schema, instance) {
  for (const s of smaller(schema, true)) yield [s, instance];
  for (const i of smaller(instance, false)) yield [schema, i];
}
