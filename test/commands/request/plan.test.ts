import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { expect, test } from "vitest";
import { type AskedOptions, planOf } from "../../../src/commands/request/plan.js";

const cwd = mkdtempSync(join(tmpdir(), "kubelab-request-"));
writeFileSync(join(cwd, "pod.yaml"), "kind: Pod\napiVersion: v1\nmetadata: {name: web}\n");
writeFileSync(join(cwd, "two.yaml"), "kind: Pod\napiVersion: v1\n---\nkind: Pod\napiVersion: v1\n");
writeFileSync(join(cwd, "no-kind.yaml"), "metadata: {name: web}\n");
writeFileSync(join(cwd, "broken.yaml"), "a: [\n");

const sink = new Writable();
const streams = { stdin: Readable.from([]), stdout: sink, stderr: sink };
const reading = { cwd, streams, signal: new AbortController().signal };

function plan(line: string, options: Partial<AskedOptions> = {}) {
  const [verb, object] = line.split(" ").filter(Boolean);
  return planOf(reading, { verb, object }, { type: "strategic", namespace: "default", ...options });
}

const wrong: readonly (readonly [line: string, options: Partial<AskedOptions>, message: RegExp])[] = [
  ["", {}, /^say what to send: a file, or a verb and an object$/],
  ["list pods", {}, /^"list" is not a verb: they are create, get, update, patch, delete$/],
  ["create", {}, /^create needs an object/],
  ["create secret/s", {}, /^"secret\/s" names neither a pod nor a Deployment$/],
  ["create pod", {}, /^"pod" has no name: write pod\/NAME$/],
  ["create pod/web", { filename: "pod.yaml" }, /^both pod\/web and pod.yaml name an object$/],
  ["get", {}, /^get needs an object: pod\/web$/],
  ["get pods", { filename: "pod.yaml" }, /^get takes an object, not a file$/],
  ["delete pods", {}, /^delete takes one object as KIND\/NAME, and "pods" is none$/],
  ["get a/b/c/d", {}, /and "a\/b\/c\/d" is none$/],
  ["create pod/web/binding", {}, /^create pod\/web\/binding needs a body: -f FILE$/],
  ["update /api/v1/nodes/a", {}, /^update \/api\/v1\/nodes\/a needs a body: -f FILE$/],
  ["delete /api/v1/nodes/a?x=y", { dryRun: true }, /^a path with a query has no --dry-run/],
  ["get pod/", {}, /and "pod\/" is none$/],
  ["patch pod/web", {}, /^patch needs a patch/],
  ["patch pod/web", { patch: "{" }, /^the patch is not JSON: /],
  ["get pods", { patch: "{}" }, /^--patch is for patch, not for get$/],
  ["", { filename: "gone.yaml" }, /gone.yaml/],
  ["", { filename: "two.yaml" }, /^two.yaml has 2 objects, and one request has one$/],
  ["", { filename: "no-kind.yaml" }, /^the object in no-kind.yaml has no kind or no apiVersion$/],
  ["", { filename: "broken.yaml" }, /broken.yaml/],
];

for (const [line, options, message] of wrong) {
  test(`request ${line} ${JSON.stringify(options)}: one sentence says what is wrong`, async () => {
    const failure = await plan(line, options).catch((error: Error) => error);
    expect(failure).toMatchObject({ message: expect.stringMatching(message), exitCode: 2 });
  });
}

test("request patch with a patch that is no JSON: the hint has one", async () => {
  await expect(plan("patch pod/web", { patch: "{" })).rejects.toMatchObject({ hint: expect.stringContaining(`-p '{`) });
});

const right: readonly (readonly [line: string, options: Partial<AskedOptions>, plan: object])[] = [
  ["", { filename: "pod.yaml" }, { method: "POST", body: { kind: "Pod" } }],
  ["update", { filename: "pod.yaml" }, { method: "PUT", body: { kind: "Pod" } }],
  ["create deployment/web", {}, { method: "POST", body: { kind: "Deployment" } }],
  ["get pods", {}, { method: "GET", object: "pods" }],
  ["get /version", {}, { method: "GET", object: "/version" }],
  ["delete pod/web", {}, { method: "DELETE", object: "pod/web" }],
  ["delete /version", {}, { method: "DELETE", object: "/version" }],
  ["get pod/web/status", {}, { method: "GET", object: "pod/web/status" }],
  ["patch /api/v1/nodes/a", { patch: "{}" }, { method: "PATCH", object: "/api/v1/nodes/a" }],
  ["create pod/web/binding", { filename: "pod.yaml" }, { method: "POST", object: "pod/web/binding", body: {} }],
  ["update /api/v1/nodes/a", { filename: "pod.yaml" }, { method: "PUT", object: "/api/v1/nodes/a", body: {} }],
  ["patch pod/web", { patch: "[]", type: "json" }, { method: "PATCH", contentType: "application/json-patch+json" }],
];

for (const [line, options, wanted] of right) {
  test(`request ${line} ${JSON.stringify(options)}`, async () => {
    expect(await plan(line, options)).toMatchObject(wanted);
  });
}
