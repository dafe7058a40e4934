import assert from "node:assert/strict";
import { test } from "vitest";
import { flagsOf, GLOBAL_FLAGS } from "../../../src/lab/kubectl/flag-notation.js";
import { FLAG_TEXTS } from "../../../src/lab/kubectl/flag-texts.js";
import { helpOf } from "../../../src/lab/kubectl/help.js";
import { VERBS } from "../../../src/lab/kubectl/verbs.js";
import { sayIn } from "../../../src/util/i18n/catalogue.js";

const en = sayIn("en");
const COLUMNS = 80;

test("each flag has a text, and each text a flag", () => {
  const flags = [GLOBAL_FLAGS, ...Object.values(VERBS).map(({ flags }) => flags)].flatMap(flagsOf);
  assert.deepEqual(Object.keys(FLAG_TEXTS).sort(), [...new Set(flags.map(({ name }) => name))].sort());
});

test.each(["", ...Object.keys(VERBS)])("the help of kubectl %s fits a terminal", (verb) => {
  const help =
    helpOf(
      [...verb.split(" "), "--help"].filter((word) => word !== ""),
      en,
    ) ?? "";
  assert.match(help, /\n$/);
  assert.deepEqual(
    help.split("\n").filter((line) => line.length > COLUMNS),
    [],
  );
});

const usages: readonly (readonly [string, string | undefined])[] = [
  ["exec x --help", "kubectl exec (POD | TYPE/NAME) [-c CONTAINER] [flags] -- COMMAND [ARG ...]"],
  ["-n x help create cm", "kubectl create configmap NAME [--from-literal=KEY=VALUE] [flags]"],
  ["auth whoami -h", "kubectl auth whoami [flags]"],
];
test.each(usages)("kubectl %s", (line, usage) => {
  assert.equal(/Usage:\n {2}(.*)/.exec(helpOf(line.split(" "), en) ?? "")?.[1], usage);
});

test.each(["exec x -- ls --help", "get pods", "gett --help"])("kubectl %s asks for no help of a verb", (line) => {
  assert.equal(helpOf(line.split(" "), en), undefined);
});
