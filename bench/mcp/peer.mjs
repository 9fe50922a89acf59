// What the peers' programs share: packages from PEERS_DIR, and how they listen.
import { pathToFileURL } from 'node:url';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.PEERS_DIR, 'package.json'));
export const load = (name) => import(pathToFileURL(require.resolve(name)).href);

export function listen(server) {
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
  process.stdin.on('end', () => process.exit(0)).resume();
}
