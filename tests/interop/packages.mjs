// Lets imports of @modelcontextprotocol/… and zod find the packages that run.py installed (INTEROP_PACKAGES): import does not look
// at NODE_PATH. Loaded with node --import.
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';

const parentURL = pathToFileURL(`${process.env.INTEROP_PACKAGES}/packages.mjs`).href;
registerHooks({
  resolve: (name, context, next) =>
    next(name, /^(@modelcontextprotocol\/|zod$)/.test(name) ? { ...context, parentURL } : context),
});
