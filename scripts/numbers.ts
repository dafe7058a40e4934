// `npm run numbers [-- SECTION ...]`: runs the benchmarks and writes what they print, with the date, to docs/numbers.md.
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { replaceSection } from "./sections.js";

const FILE = "docs/numbers.md";

/** A section of docs/numbers.md and the npm script that fills it. */
const SECTIONS: Readonly<Record<string, string>> = {
  startup: "bench:startup",
  bootstrap: "bench:bootstrap",
  apiserver: "bench:apiserver",
  pleg: "bench:pleg",
  runtime: "bench:runtime",
  exec: "bench:exec",
  node: "bench:node",
  workloads: "bench:workloads",
  simulated: "bench:simulated",
  learn: "bench:learn",
};

const asked = process.argv.slice(2);
const unknown = asked.find((name) => SECTIONS[name] === undefined);
if (unknown !== undefined) throw new Error(`no section "${unknown}": use ${Object.keys(SECTIONS).join(", ")}`);

for (const name of asked.length > 0 ? asked : Object.keys(SECTIONS)) {
  const script = SECTIONS[name] ?? "";
  process.stderr.write(`${name}: npm run ${script}\n`);
  const output = execFileSync("npm", ["run", "-s", script], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  const machine = `Node ${process.versions.node}, ${availableParallelism()} cores`;
  const date = new Date().toISOString().slice(0, 10);
  const text = `${date}, ${machine}:\n\n\`\`\`text\n${output.trim()}\n\`\`\``;
  await writeFile(FILE, replaceSection(await readFile(FILE, "utf8"), name, text));
}
