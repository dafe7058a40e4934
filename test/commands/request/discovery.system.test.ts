import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ControlPlane } from "../../../src/cluster/control-plane/control-plane.js";
import { CliSession } from "../../../src/commands/cli/session.js";
import { PROGRAM } from "../../../src/commands/main.js";
import { planOf } from "../../../src/commands/request/plan.js";
import { followRequest } from "../../../src/commands/request/run.js";
import { isDispatch } from "../../../src/commands/request/way.js";
import type { KubeClient } from "../../../src/staging/client-go/rest/client.js";
import { createClient } from "../../../src/staging/client-go/rest/create-client.js";
import { RequestTrace } from "../../../src/testbed/fixtures/request-trace.js";
import { startEmbeddedControlPlane } from "../../../src/testbed/target/embedded-control-plane.js";
import type { TraceEvent } from "../../../src/trace/events.js";
import { SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";
import { recordingTrace } from "../../support/trace.js";

interface Discovered {
  readonly name: string;
  readonly namespaced: boolean;
  readonly kind: string;
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly string[];
}

const OPTIONS = { type: "merge", namespace: "default", watchers: 1, kubeVersion: "1.25", color: false } as const;

/** Every kind and subresource that the server has, with an object of it. */
async function everything(client: KubeClient) {
  const groups = await client.expect<Groups>({ method: "GET", path: "/apis" });
  const versions = groups.groups.flatMap((group) => group.versions.map(({ groupVersion }) => groupVersion));
  const all = [];
  for (const groupVersion of ["v1", ...versions]) {
    const root = groupVersion === "v1" ? "/api/v1" : `/apis/${groupVersion}`;
    const { resources } = await client.expect<{ resources: Discovered[] }>({ method: "GET", path: root });
    for (const { name, namespaced, kind, group, version } of resources) {
      const [resource, subresource] = name.split("/");
      const object = `${root}${namespaced ? "/namespaces/default" : ""}/${resource}/x`;
      const path = subresource === undefined ? object : `${object}/${subresource}`;
      const apiVersion = version === undefined ? groupVersion : [group, version].filter(Boolean).join("/");
      const isNamedByFile = subresource === undefined;
      all.push({ path, isNamedByFile, body: { apiVersion, kind, metadata: { name: "x" } } });
    }
  }
  return all;
}

interface Groups {
  readonly groups: readonly { readonly versions: readonly { readonly groupVersion: string }[] }[];
}

/** The objects live in this order. */
const VERBS = ["create", "get", "update", "patch", "delete"];
/** Tried with each verb: of all scopes, with and without subresources. The others have one verb each, in turn. */
const EACH_VERB =
  /\/(?:pods|nodes|configmaps|deployments|certificatesigningrequests)\/x(?:\/(?:status|scale|approval))?$/;

const cwd = mkdtempSync(join(tmpdir(), "kubelab-request-"));
const [clock, random] = [new SystemClock(), new SystemRandom()];
const { trace } = recordingTrace(clock);
const facts: TraceEvent[] = [];
trace.addSink({ level: 3, write: (event) => void facts.push(event) });
const story = new RequestTrace(trace);
let controlPlane: ControlPlane;
beforeAll(async () => {
  controlPlane = await startEmbeddedControlPlane({ clock, random, trace: story.trace, kubeVersion: "1.25" });
});
afterAll(() => controlPlane.close());

/** Sends one request as the command does. @returns the exit code */
async function send(verb: string, object: string | undefined, body: object): Promise<number> {
  writeFileSync(join(cwd, "body.yaml"), JSON.stringify(body));
  const streams = { stdin: new PassThrough(), stdout: new PassThrough().resume(), stderr: new PassThrough().resume() };
  const { signal } = new AbortController();
  const session = new CliSession({ env: { HOME: cwd }, cwd, streams, random, self: ["false"], signal }, PROGRAM);
  await session.load();
  const file = verb === "create" || verb === "update" ? { filename: "body.yaml" } : {};
  const options = { ...OPTIONS, ...file, ...(verb === "patch" ? { patch: "{}" } : {}) };
  const plan = await planOf(session, { verb, object }, options);
  await followRequest(session, { controlPlane, clock, trace, story, facts }, plan, options);
  return session.exitCode;
}

type Kind = Awaited<ReturnType<typeof everything>>[number];
let kinds: readonly (Kind & { readonly verbs: readonly string[] })[];
beforeAll(async () => {
  await using client = createClient(controlPlane.admin, { clock, random, trace: story.trace, actor: "user" });
  kinds = (await everything(client)).map((kind, i) => {
    return {
      ...kind,
      verbs: EACH_VERB.test(kind.path) ? VERBS : VERBS.slice(i % VERBS.length, (i % VERBS.length) + 1),
    };
  });
  expect(kinds.length).toBeGreaterThan(80);
  for (const { path, isNamedByFile, body, verbs } of kinds) {
    // One without a spec is refused; its verbs are answered nevertheless.
    if (isNamedByFile && !verbs.includes("create")) await client.request({ method: "POST", path: dirname(path), body });
  }
});

for (const verb of VERBS) {
  test(`${verb} of kinds and subresources of discovery is answered: exit code 0 or 4`, async () => {
    const takesFile = verb === "create" || verb === "update";
    const failed: unknown[] = [];
    const ofVerb = kinds.filter(({ verbs }) => verbs.includes(verb));
    expect(ofVerb.filter(({ path }) => EACH_VERB.test(path)).length).toBeGreaterThan(8);
    for (const { path, isNamedByFile, body } of ofVerb) {
      const code = await send(verb, takesFile && isNamedByFile ? undefined : path, body).catch((error) => error);
      if (code !== 0 && code !== 4) failed.push([path, code]);
    }
    expect(failed).toEqual([]);
  });
}

const SUBJECT = { spec: { user: "jane", resourceAttributes: { verb: "get", resource: "pods", namespace: "default" } } };
const REVIEWS: readonly (readonly [apiVersion: string, kind: string, rest: object])[] = [
  ["authorization.k8s.io/v1", "SubjectAccessReview", SUBJECT],
  ["authorization.k8s.io/v1", "LocalSubjectAccessReview", { metadata: { namespace: "default" }, ...SUBJECT }],
  [
    "authorization.k8s.io/v1",
    "SelfSubjectAccessReview",
    { spec: { nonResourceAttributes: { path: "/", verb: "get" } } },
  ],
  ["authorization.k8s.io/v1", "SelfSubjectRulesReview", { spec: { namespace: "default" } }],
  ["authentication.k8s.io/v1", "TokenReview", { spec: { token: "unknown" } }],
];
for (const [apiVersion, kind, rest] of REVIEWS) {
  test(`${kind}, which can only be created, is answered`, async () => {
    expect(await send("create", undefined, { apiVersion, kind, ...rest })).toBe(0);
  });
}

const NODE = { apiVersion: "v1", kind: "Node", metadata: { name: "n" } };
const PATHS: readonly (readonly [how: string, pod: string, object: string | undefined])[] = [
  ["its kind", "a", undefined],
  ["words", "b", "pod/b/binding"],
  ["a path", "c", "/api/v1/namespaces/default/pods/c/binding"],
];
for (const [how, name, object] of PATHS) {
  test(`a Binding by ${how} shows as an event of the pod`, async () => {
    const containers = [{ name: "c", image: "nginx" }];
    await send("create", undefined, { apiVersion: "v1", kind: "Pod", metadata: { name }, spec: { containers } });
    await send("create", undefined, NODE);
    const target = { apiVersion: "v1", kind: "Node", name: "n" };
    expect(await send("create", object, { apiVersion: "v1", kind: "Binding", metadata: { name }, target })).toBe(0);
    const dispatched = facts.flatMap((fact) => (fact.kind === "decision" && isDispatch(fact) ? [fact.why] : []));
    expect(dispatched).toContainEqual(expect.stringMatching(/^1 client over HTTPS got/));
  });
}
