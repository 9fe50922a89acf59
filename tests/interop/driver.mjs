// driver.mjs --plan: the cells of every side, as JSON.
// driver.mjs SIDE TRANSPORT SERVER|URL: runs one side's cells; a line of JSON for each.
import { cells } from './cells.mjs';
import { install, Mismatch, text } from './exact.mjs';
import { Side } from './sides.mjs';

const limit = 30_000; // a cell that takes longer has failed
const names = ['sdk1', 'client2-legacy', 'client2-modern'];

function failure(error) {
  if (error instanceof Mismatch) return { why: error.message, expected: error.expected, seen: error.seen };
  const code = error?.code === undefined ? '' : ` (${error.code})`;
  return { why: `${error?.name}${code}: ${error?.message}`, where: error?.stack?.split('\n')[1]?.trim() };
}

async function bounded(work) {
  let timer;
  const late = new Promise((_, refuse) => {
    timer = setTimeout(() => refuse(new Mismatch('an end', `none after ${limit / 1000} s`)), limit);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function run(side, where) {
  const counted = cells.filter(cell => !cell.not?.(side));
  for (const cell of counted) {
    let problem;
    try {
      if (cell.name === counted[0].name) await bounded(side.connect(where));
      await bounded(Promise.resolve(cell.run(side)));
    } catch (error) {
      problem = failure(error);
    }
    side.answers = {};
    side.asked.length = 0;
    for (const arrivals of Object.values(side.arrived)) arrivals.clear();
    console.log(text({ cell: cell.name, ok: problem === undefined, ...problem }));
    if (problem && cell.name === counted[0].name) process.exit(1); // not connected
  }
}

function plan() {
  const columns = [];
  for (const name of names) {
    for (const transport of ['stdio', 'http']) {
      const side = new Side(name, transport);
      columns.push({ column: `${name}/${transport}`, cells: cells.filter(cell => !cell.not?.(side)).map(cell => cell.name) });
    }
  }
  return columns;
}

install();
if (process.argv[2] === '--plan') {
  console.log(JSON.stringify(plan()));
} else {
  const [name, transport, where] = process.argv.slice(2);
  await run(new Side(name, transport), transport === 'http' ? { url: where } : { server: where });
  process.exit(0);
}
