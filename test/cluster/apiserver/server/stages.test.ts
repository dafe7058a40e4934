import { expect, test } from "vitest";
import type { Change, TraceEvent } from "../../../../src/trace/events.js";
import { Face } from "./support.js";

const PODS = "/api/v1/namespaces/default/pods";
const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { generateName: "web-" },
  spec: { containers: [{ name: "web", image: "nginx" }] },
};

/** What the server did with the requests of `run`: function, text, and what was changed where. */
async function stagesOf(
  run: (face: Face) => Promise<unknown>,
): Promise<readonly (TraceEvent & { kind: "decision" })[]> {
  await using face = await Face.open();
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
  await face.ask("/api/v1/namespaces/default/serviceaccounts", { method: "POST", body: account });
  await new Promise((resolve) => setImmediate(resolve));
  const events: TraceEvent[] = [];
  face.trace.addSink({ level: 3, write: (event) => events.push(event) });
  await run(face);
  await new Promise((resolve) => setImmediate(resolve));
  return events.filter((event) => event.kind === "decision");
}

const funcs = (stages: readonly TraceEvent[]) =>
  stages.map((stage) => (stage.kind === "decision" ? stage.upstream?.func : undefined));
const paths = (changes: readonly Change[] = []) => changes.map(({ op, path }) => `${op} ${path}`);

test("a creation: from the filters over admission and the strategy to the transaction and the watches", async () => {
  const stages = await stagesOf((face) => face.ask(PODS, { method: "POST", body: POD }));
  expect(funcs(stages)).toEqual([
    "WithAuditInit",
    "WithRequestInfo",
    "WithCacheControl",
    "WithWarningRecorder",
    "WithWaitGroup",
    "WithRequestDeadline",
    "WithAuthentication",
    "WithAuthorization",
    "NegotiateInputSerializer",
    "codec.Decode",
    "chainAdmissionHandler.Admit",
    "chainAdmissionHandler.Admit",
    "chainAdmissionHandler.Admit",
    "BeforeCreate",
    "strategy.Validate",
    "chainAdmissionHandler.Validate",
    "Create",
    "WriteObjectNegotiated",
    "dispatchEvent",
  ]);
  const [
    ,
    info,
    cached,
    ,
    ,
    deadline,
    ,
    ,
    decoded,
    defaulted,
    account,
    priority,
    ,
    prepared,
    ,
    accepted,
    stored,
    answer,
    event,
  ] = stages;
  expect(info?.what).toBe("create pods in namespace default, version v1");
  expect(cached?.what).toBe("set Cache-Control: no-cache, private");
  expect([deadline?.what, deadline?.why]).toEqual([
    "give the body 60 s to arrive",
    "it is not long-running: 60 s, as no timeout= says less",
  ]);
  expect(decoded?.what).toBe(`decode ${JSON.stringify(POD).length} bytes of application/json`);
  expect(paths(defaulted?.changes)).toContain("add /spec/containers/0/imagePullPolicy");
  expect([account?.what, priority?.what]).toEqual([
    "change create of pods default/web- by ServiceAccount",
    "change create of pods default/web- by Priority",
  ]);
  expect(priority?.changes?.[0]).toEqual({ op: "add", path: "/spec/priority", value: 0 });
  expect(prepared?.why).toBe("it gets a uid and its creation time, and a name that begins with web-");
  expect(paths(prepared?.changes)).toContain("add /metadata/uid");
  expect(accepted?.why).toBe("asked: LimitRanger, ServiceAccount, PodSecurity, ResourceQuota");
  expect(stored?.what).toMatch(/^transaction on \/registry\/pods\/default\/web-.{5}: revision \d+$/);
  expect(stored?.why).toBe("if no entry has the key, then keep the object with the next revision, else change nothing");
  expect(answer?.what).toMatch(/^answer 201: \d+ bytes of application\/json$/);
  expect(event?.what).toMatch(/^event ADDED \/registry\/pods\/default\/web-.{5} at revision \d+: \d+ watch/);
});

test("requests without a body have no deadline, and long-running ones are not waited for", async () => {
  const stages = await stagesOf(async (face) => {
    await face.ask(`${PODS}?timeout=5s`);
    (await face.open(`${PODS}?watch=true`, {})).destroy();
    const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
    await face.ask("/api/v1/namespaces/default/configmaps?timeout=5s", { method: "POST", body: configMap });
  });
  expect(stages.filter(({ upstream }) => upstream?.func === "WithWaitGroup").length).toBe(2);
  const deadlines = stages.filter(({ upstream }) => upstream?.func === "WithRequestDeadline");
  expect(deadlines.map(({ what, why }) => [what, why])).toEqual([
    ["give the body 5 s to arrive", "it is not long-running: timeout=5s, at most 60 s"],
  ]);
});

for (const [method, headers] of [
  ["PATCH", { "content-type": "application/merge-patch+json" }],
  ["PUT", {}],
] as const) {
  test(`a ${method}: admission says which plugins it asked, and the strategy what it keeps`, async () => {
    const stages = await stagesOf(async (face) => {
      const created = await face.ask(PODS, { method: "POST", body: { ...POD, metadata: { name: "web" } } });
      const body = { ...created.body, metadata: { ...created.body.metadata, labels: { a: "b" } } };
      await face.ask(`${PODS}/web`, { method, headers, body });
    });
    const told = stages.map(({ what, why, upstream }) => [upstream?.func, what, why]);
    expect(told).toContainEqual([
      "chainAdmissionHandler.Admit",
      "leave update of pods default/web as it is",
      expect.stringMatching(/^asked: /),
    ]);
    expect(told).toContainEqual(["BeforeUpdate", "prepare Pod web", "the server's own fields stay as they are"]);
    expect(told).toContainEqual([
      "chainAdmissionHandler.Validate",
      "accept update of pods default/web",
      expect.stringMatching(/^(?:asked: |no plugin handles it)/),
    ]);
  });
}

test("what writes an answer: paths with one format do so themselves", async () => {
  const answers = async (path: string) => {
    const stages = await stagesOf((face) => face.ask(path, { headers: { accept: "application/json" } }));
    const { upstream, why } = stages.findLast(({ what }) => what.startsWith("answer ")) ?? {};
    return [upstream?.func, why];
  };
  const own = "this path has one format, whatever the client accepts";
  expect(await answers("/healthz")).toEqual(["handleRootHealth", own]);
  expect(await answers("/readyz/ping")).toEqual(["adaptCheckToHandler", own]);
  expect(await answers("/metrics")).toEqual(["DefaultMetrics.Install", own]);
  expect(await answers("/nothing")).toEqual(["pathHandler.ServeHTTP", own]);
  expect(await answers("/version")).toEqual(["WriteObjectNegotiated", "Accept: application/json"]);
});

test("an update: the version that was read, the patch, the compare; without a change no transaction", async () => {
  const patch = { method: "PATCH", headers: { "content-type": "application/merge-patch+json" } };
  const stages = await stagesOf(async (face) => {
    const { name } = (await face.ask(PODS, { method: "POST", body: POD })).body.metadata;
    await face.ask(`${PODS}/${name}`, { ...patch, body: { metadata: { labels: { a: "b" } } } });
    await face.ask(`${PODS}/${name}`, { ...patch, body: { metadata: { labels: { a: "b" } } } });
  });
  const updates = stages.filter(({ upstream }) => upstream?.func === "GuaranteedUpdate");
  const [first, transaction, , same] = updates;
  const revision = /mod_revision (\d+)$/.exec(first?.what ?? "")?.[1];
  expect(transaction?.why).toBe(
    `if the entry's modRevision is ${revision}, then keep the object with the next revision, else change nothing`,
  );
  expect(same?.what).toMatch(/^write nothing at /);
  const patched = stages.find(({ upstream }) => upstream?.func === "patcher.applyPatch");
  expect(patched?.changes).toEqual([{ op: "add", path: "/metadata/labels", value: { a: "b" } }]);
});

test("a refusal ends the way: by validation, by a key that exists, by a failed compare", async () => {
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } };
  const stages = await stagesOf(async (face) => {
    await face.ask(PODS, { method: "POST", body: { ...POD, spec: { containers: [{ name: "A B", image: "x" }] } } });
    await face.ask("/api/v1/nodes", { method: "POST", body: node });
    await face.ask("/api/v1/nodes", { method: "POST", body: node });
  });
  const told = stages.map(({ what, why }) => `${what} | ${why}`);
  expect(told).toContainEqual(
    expect.stringMatching(/^refuse Pod web-.*: it is invalid \| wrong: spec.containers\[0\]/),
  );
  expect(told).toContainEqual(expect.stringMatching(/^transaction on \/registry\/minions\/n1: the compare failed \| /));
});

test("a service: what its kind allocates", async () => {
  const body = { apiVersion: "v1", kind: "Service", metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } };
  const stages = await stagesOf((face) => face.ask("/api/v1/namespaces/default/services", { method: "POST", body }));
  const begun = stages.find(({ upstream }) => upstream?.func === "BeginCreate");
  expect(begun?.what).toBe("allocate for Service s");
  expect(paths(begun?.changes)).toContain("add /spec/clusterIP");
});

test("a deletion with a grace period: the object is marked, and stays", async () => {
  const stages = await stagesOf(async (face) => {
    const pod = { ...POD, metadata: { name: "web" }, spec: { ...POD.spec, nodeName: "n1" } };
    await face.ask(PODS, { method: "POST", body: pod });
    await face.ask(`${PODS}/web`, { method: "DELETE" });
  });
  const marked = stages.find(({ upstream }) => upstream?.func === "BeforeDelete");
  expect([marked?.what, marked?.why]).toEqual(["delete Pod web: it is marked, and stays", "grace period: 30 s"]);
  expect(paths(marked?.changes)).toContain("add /metadata/deletionTimestamp");
});

test("clients that watch the same form get the same bytes, another form is encoded for itself", async () => {
  const watch = `${PODS}?watch=true`;
  const stages = await stagesOf(async (face) => {
    const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
    const clients = [{}, {}, table].map((headers) =>
      // An identity of its own has a connection of its own.
      face.open(watch, { headers, as: { ...face.admin } }),
    );
    const streams = await Promise.all(clients);
    const arrived = streams.map((stream) => new Promise((resolve) => stream.once("data", resolve)));
    await face.ask(PODS, { method: "POST", body: POD });
    await Promise.all(arrived);
    for (const stream of streams) stream.destroy();
  });
  const event = stages.find(({ upstream }) => upstream?.func === "dispatchEvent");
  expect(event?.what).toMatch(/: \d+ watches of \/registry\/pods\/$/);
  expect(event?.why).toMatch(/^2 clients got the same \d+ bytes, encoded once; 1 client over HTTPS got \d+ bytes$/);
  expect(event?.causedBy).toMatch(/@\d+$/);
});

test("values of Secrets are masked in all changes", async () => {
  const path = "/api/v1/namespaces/default/secrets";
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, stringData: { pw: "hunter2-hunter2" } };
  const stages = await stagesOf(async (face) => {
    await face.ask(path, { method: "POST", body: secret });
    const headers = { "content-type": "application/merge-patch+json" };
    const data = { pw: Buffer.from("correct-horse").toString("base64") };
    await face.ask(`${path}/s`, { method: "PATCH", headers, body: { data, stringData: { more: "battery-staple" } } });
  });
  const text = JSON.stringify(stages);
  expect(stages.flatMap(({ changes }) => paths(changes))).toContain("replace /data/pw");
  for (const value of ["hunter2-hunter2", "correct-horse", "battery-staple"]) {
    expect([value, text.includes(value) || text.includes(Buffer.from(value).toString("base64"))]).toEqual([
      value,
      false,
    ]);
  }
});

test("a trace that keeps no stages costs none", async () => {
  await using face = await Face.open();
  const kinds = new Set<string>();
  face.trace.addSink({ level: 2, write: ({ kind }) => kinds.add(kind) });
  const body = { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } };
  await face.ask("/api/v1/nodes", { method: "POST", body });
  await new Promise((resolve) => setImmediate(resolve));
  expect([...kinds]).toEqual([]);
});
