import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { manifestFromFile, manifestFromWord } from "../../../src/commands/journey/manifest.js";
import { LabError } from "../../../src/util/errors.js";

const newFolder = () => mkdtempSync(join(tmpdir(), "kubelab-journey-"));

const words: readonly (readonly [string, RegExp | string])[] = [
  ["pod/web", "web"],
  ["pods/a.b-c", "a.b-c"],
  ["deployment/web", "web"],
  ["deploy/web", "web"],
  ["service/web", /"service\/web" names neither a pod nor a Deployment/],
  ["toString/web", /"toString\/web" names neither/],
  ["web", /"web" names neither/],
  ["pod/a/b", /"pod\/a\/b" names neither/],
  ["pod/", /"pod\/" has no name: write pod\/NAME$/],
  ["deploy", /"deploy" has no name: write deployment\/NAME$/],
  ["pod/Web", /"Web" is not the name of a Pod/],
  [`pod/${"a".repeat(254)}`, /is not the name of a Pod/],
];
for (const [word, want] of words) {
  test(`journey ${word.slice(0, 40)}`, () => {
    if (typeof want === "string") assert.equal(manifestFromWord(word).name, want);
    else assert.throws(() => manifestFromWord(word), want);
  });
}

const POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\n";
const files: readonly (readonly [string, string, RegExp | string])[] = [
  ["a pod", POD, "b/a"],
  ["a pod between separators", `---\n${POD}---\n`, "b/a"],
  ["JSON", '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}', "default/a"],
  ["two pods", `${POD}---\n${POD}`, /has 2 objects, and a journey is that of one object/],
  ["nothing", "", /has 0 objects/],
  ["a text", "hello", /has no object/],
  ["a list", "[1]", /has no object/],
  [
    "another kind",
    POD.replace("Pod", "Service"),
    /has a Service \(v1\), and a journey is that of a Pod \(v1\) or Deployment \(apps\/v1\)/,
  ],
  ["a Deployment", POD.replace("v1", "apps/v1").replace("Pod", "Deployment"), "b/a"],
  ["a Deployment of an old version", POD.replace("Pod", "Deployment"), /has a Deployment \(v1\)/],
  ["another version", POD.replace("v1", "v2"), /has a Pod \(v2\)/],
  ["no kind", "metadata: {name: a}", /an object without a kind/],
  ["no name", "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}", /has no name/],
  ["metadata that is a list", "apiVersion: v1\nkind: Pod\nmetadata: [a]", /has no name/],
  ["not YAML", "a: [", /is not YAML/],
];
for (const [name, text, want] of files) {
  test(`journey -f: ${name}`, async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, "pod.yaml"), text);
    const context = { cwd, signal: new AbortController().signal } as Parameters<typeof manifestFromFile>[0];
    const read = manifestFromFile(context, "pod.yaml").then(({ namespace, name: pod }) => `${namespace}/${pod}`);
    if (typeof want === "string") assert.equal(await read, want);
    else
      await assert.rejects(
        read,
        (error) => error instanceof LabError && error.code === "BAD_FILE" && want.test(error.message),
      );
  });
}

test("journey -f: a file that is not there", async () => {
  const context = { cwd: newFolder(), signal: new AbortController().signal } as Parameters<typeof manifestFromFile>[0];
  await assert.rejects(manifestFromFile(context, "none.yaml"), /cannot read none.yaml: /);
});
