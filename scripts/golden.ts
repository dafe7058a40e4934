// `npm run golden -- DIR`: replays what the real kubelet was recorded to do through our code, and counts what differs.
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { AREAS, type Area } from "../test/golden/areas.js";
import { GOLDEN, type GoldenLine, goldenLines } from "../test/golden/golden.js";

/** Of scenarios that differ, so many are shown with their places (all with --verbose). */
const MAX_SHOWN = 5;
const MAX_PLACES = 4;

const args = process.argv.slice(2);
const isVerbose = args.includes("--verbose");
const folder = args.find((arg) => !arg.startsWith("-")) ?? GOLDEN;

if (existsSync(folder) && statSync(folder).isDirectory()) await main();
else {
  process.stderr.write(`no golden data at ${folder}: name a folder laid out as ${GOLDEN} is\n`);
  process.exitCode = 2;
}

async function main(): Promise<void> {
  print(["area", "file", "matched", "differing"]);
  let replayed = 0;
  for (const file of filesOf(folder)) {
    const area = AREAS.find(({ matches }) => matches(file));
    if (area === undefined) continue;
    replayed++;
    try {
      await replayFile(area, file);
    } catch (error) {
      process.stderr.write(`${file} cannot be replayed: ${error instanceof Error ? error.message : String(error)}\n`);
      process.exitCode = 1;
    }
  }
  const unknown = filesOf(folder).filter((file) => !AREAS.some(({ matches }) => matches(file)));
  if (unknown.length > 0) process.stdout.write(`not replayed yet: ${unknown.join(", ")}\n`);
  if (replayed > 0) return;
  process.stderr.write(`nothing in ${folder} belongs to an area that can be replayed\n`);
  process.exitCode = 2;
}

async function replayFile(area: Area, file: string): Promise<void> {
  const path = join(folder, file);
  const lines = area.lines?.(path) ?? goldenLines<GoldenLine>(path);
  const differing: { readonly name: string; readonly places: readonly string[] }[] = [];
  for (const [i, line] of lines.entries()) {
    const places = await area.replay(line).catch((error: unknown) => [`cannot be replayed: ${String(error)}`]);
    if (places.length > 0) differing.push({ name: line.name ?? `line ${i + 1}`, places });
  }
  print([area.name, file, String(lines.length - differing.length), String(differing.length)]);
  for (const { name, places } of isVerbose ? differing : differing.slice(0, MAX_SHOWN)) {
    process.stdout.write(`  ${name}\n`);
    const shown = isVerbose ? places : places.slice(0, MAX_PLACES);
    process.stdout.write(shown.map((place) => `    ${place}\n`).join(""));
  }
  if (differing.length > 0) process.exitCode = 1;
}

/** Data files, as paths below the folder. */
function filesOf(root: string, below = ""): string[] {
  const entries = readdirSync(join(root, below), { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = join(below, entry.name);
    return entry.isDirectory() ? filesOf(root, path) : /\.jsonl?$/.test(entry.name) ? [path] : [];
  });
}

function print([area, file, matched, differing]: readonly [string, string, string, string]): void {
  process.stdout.write(`${area.padEnd(12)}${file.padEnd(32)}${matched.padStart(8)}${differing.padStart(11)}\n`);
}
