// npm runs this script `dependencies` after `npm ci` in a checkout, but not where the package is installed. `npm ci --omit=dev` installs no bundler:
// dist/ then stays as it is.
import { existsSync } from "node:fs";

if (existsSync(new URL("../node_modules/rolldown", import.meta.url))) await import("./build.mjs");
else console.error("kubelab: the development packages are not installed, so dist/ is not built.");
