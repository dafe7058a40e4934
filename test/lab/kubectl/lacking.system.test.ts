import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, test } from "vitest";
import { flagsOf, GLOBAL_FLAGS } from "../../../src/lab/kubectl/flag-notation.js";
import { LACKING_FLAGS, LACKING_GLOBAL_FLAGS, LACKING_VERBS } from "../../../src/lab/kubectl/lacking.js";
import { isGroup } from "../../../src/lab/kubectl/unknown-words.js";
import { VERBS } from "../../../src/lab/kubectl/verbs.js";
import { kubectlMinor } from "../../support/kubectl.js";
import { suiteNeeding } from "../../support/requirements.js";

/** The release whose words the table of missing ones has. */
const NEWEST = 32;

const namesOf = (...notations: (string | undefined)[]) =>
  notations.flatMap((notation) => flagsOf(notation ?? "").map(({ name }) => name));

describe("what only kubectl has", () => {
  test.each(Object.keys(VERBS))("%s has no flag that counts as missing", (verb) => {
    const own = namesOf(VERBS[verb]?.flags, GLOBAL_FLAGS);
    assert.deepEqual(
      namesOf(LACKING_FLAGS[verb]).filter((name) => own.includes(name)),
      [],
    );
  });
  test("no known verb counts as missing", () => {
    const known = Object.keys(VERBS);
    assert.deepEqual(
      LACKING_VERBS.filter((verb) => known.includes(verb) || isGroup(verb, known)),
      [],
    );
    assert.deepEqual(
      Object.keys(LACKING_FLAGS).filter((verb) => !known.includes(verb)),
      [],
    );
  });
});

suiteNeeding(["kubectl"], "every word of kubectl is known or counts as missing", () => {
  const help = (words: readonly string[]) => execFileSync("kubectl", [...words, "--help"], { encoding: "utf8" });
  // A newer kubectl has more.
  const isComparable = (kubectlMinor ?? Number.POSITIVE_INFINITY) <= NEWEST;
  const groups = ["", "create", "create secret", "set", "rollout", "top", "certificate", "auth", "config"];

  test.runIf(isComparable).each(groups)("the subcommands of kubectl %s", (group) => {
    const words = group.split(" ").filter((word) => word !== "");
    const real = [...help(words).matchAll(/^ {2}([a-z][a-z-]+) {2,}/gm)].map(([, name]) => [...words, name].join(" "));
    const known = [...Object.keys(VERBS), ...LACKING_VERBS];
    assert.notEqual(real.length, 0);
    assert.deepEqual(
      real.filter((verb) => !known.includes(verb) && !isGroup(verb, known)),
      [],
    );
  });

  test.runIf(isComparable).each(Object.keys(VERBS))("the flags of kubectl %s", (verb) => {
    const real = [...help(verb.split(" ")).matchAll(/^ +(?:-\w, )?--([a-z-]+)=/gm)].map(([, name]) => name);
    const known: readonly (string | undefined)[] = namesOf(
      VERBS[verb]?.flags,
      GLOBAL_FLAGS,
      LACKING_FLAGS[verb],
      LACKING_GLOBAL_FLAGS,
    );
    assert.deepEqual(
      real.filter((name) => !known.includes(name)),
      [],
    );
  });
});
