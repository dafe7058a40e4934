import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { parseLine } from "../../../src/lab/kubectl/flags.js";
import { VERBS } from "../../../src/lab/kubectl/verbs.js";
import { parseYaml } from "../../../src/staging/apimachinery/yaml.js";

const FLAGS = Object.fromEntries(Object.entries(VERBS).map(([verb, { flags }]) => [verb, flags]));

/** From `kubectl` to the end of the command, or to another command inside it: a quote may be that of `sh -c`. */
const COMMAND = /\bkubectl ((?:'[^']*'|"(?:[^"\\]|\\.)*"|\$(?!\()|[^|;&)<>\n'"`$])*)/g;

for (const lab of readdirSync("labs").filter((name) => /^\d/.test(name))) {
  test(`${lab}: the built-in kubectl knows the verbs and flags of its lines`, () => {
    const texts = stringsIn(parseYaml(readFileSync(join("labs", lab, "lab.yaml"), "utf8")));
    // In a text, commands stand in inline code. `kubectl get` is a name, and `kubectl create -f` goes on in words.
    const spans = readFileSync(join("labs", lab, "en.md"), "utf8").matchAll(/`(kubectl [a-z]+ [^`]+)(?<! -f)`/g);
    for (const text of [...texts, ...[...spans].map(([, code = ""]) => code)]) {
      for (const [line, rest = ""] of text.matchAll(COMMAND)) {
        const words = rest.match(/(?:[^\s'"]|'[^']*'|"(?:[^"\\]|\\.)*")+/g) ?? [];
        assert.doesNotThrow(() => parseLine(words, FLAGS), line);
      }
    }
  });
}

/** The command lines of a lab, and what its `trouble` may be. */
function stringsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
