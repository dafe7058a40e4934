import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { sourceFiles } from "./source-files.js";

const SRC = fileURLToPath(new URL("../../src", import.meta.url));
const ROOMS = [
  ...["apimachinery", "client-go"].map((name) => `staging/${name}`),
  ...["apiserver", "control-plane", "controllers", "scheduler", "kube-proxy", "runtime"].map(
    (name) => `cluster/${name}`,
  ),
  "kubelet",
  "testbed",
];

/** How code writes the reason of an event, of a condition, of a status. */
const PLACES: readonly RegExp[] = [
  /"(?:Normal|Warning)",\s*([^;]{0,200}?)[,)\]]/g,
  /\b(?:okR|r)eason(?:\??:|\s*=(?!=)|\s*===)\s*([^;,}]{0,160})/g,
  /\b(?:REASON|\w*_REASON)\w*\s*(?::[^=]*)?=\s*([^;]*);/g,
  /\brefuse\(\s*([^,]*),/g,
  /\b(?:setCondition|conditionOf|newCondition|condition)\(([^;]{0,160})/g,
  /\b(?:absent|present): \[([^,]*),/g,
  /\btype SyncErrorReason =([^;]*);/g,
  /\b(?:record\w*|fail|isTrue|isFalse)\(([^;]{0,120}?)[`)]/g,
  /"(?:True|False|Unknown)",\s*("\w+")/g,
  /\bconst [A-Z_]+ = \[("\w+"), "\w+ /g,
];
const NAME = /"([A-Z][A-Za-z]*[a-z][A-Za-z]*)"/g;

/** The reasons that the source can write: by name, the file of one place. */
export function reasonsInSource(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const file of ROOMS.flatMap((room) => sourceFiles(join(SRC, room)))) {
    const code = readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
    for (const place of PLACES) {
      for (const [, part = ""] of code.matchAll(place)) {
        for (const [, name = ""] of part.matchAll(NAME)) found.set(name, relative(SRC, file));
      }
    }
  }
  return found;
}
