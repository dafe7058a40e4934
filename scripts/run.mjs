// Runs a TypeScript file with its arguments: `node scripts/run.mjs bench/startup.ts --runs 5`.
import { withModule } from "./bundle.mjs";

const [file, ...args] = process.argv.slice(2);
if (file === undefined) throw new Error("usage: node scripts/run.mjs FILE.ts [argument ...]");

process.argv = [process.argv[0] ?? "node", file, ...args];
await withModule(file, () => {});
