import assert from "node:assert/strict";
import { test } from "vitest";
import { openTopics } from "../../../src/commands/explain/open-topics.js";
import type { Fact, TraceEvent } from "../../../src/trace/events.js";
import { upstreamOf } from "../../../src/trace/story/reasons.js";
import { roleInLife } from "../../../src/trace/story/roles.js";
import { storyStep } from "../../../src/trace/story/step.js";
import { sentencesIn } from "../../../src/util/i18n/sentences.js";
import { fact } from "../facts.js";

const ID = "0123456789abcdef";
const PODS = "/api/v1/namespaces/default/pods";
const request = (method: string, path: string, more: object = {}): Fact => ({
  ...{ kind: "request", server: "s", identity: "admin", auditId: "a", durationMs: 1, status: 200 },
  ...{ method, path, ...more },
});
const call = (method: string, code = "OK"): Fact => ({
  ...{ kind: "rpc", service: "RuntimeService", endpoint: "unix:///x", durationMs: 1 },
  ...{ method, code },
});
const state = (subject: string, what: string, to: string, more: object = {}): Fact => ({
  ...{ kind: "state", subject, what, to },
  ...more,
});
const decision = (what: string, more: object = {}): Fact => ({ kind: "decision", what, why: "x", ...more });
const container = state("default/web/nginx", "container", "running");

/** actor, fact, its effect, its sentence in both languages, its role in an object's life */
const table: readonly [TraceEvent["actor"], Fact, Fact | undefined, string, string, string | undefined][] = [
  [
    "user",
    request("POST", PODS),
    state("pods default/web", "stored", ""),
    "asks the API server to create pod web",
    "请求 API server 创建 Pod web",
    "step",
  ],
  [
    "user",
    request("POST", PODS, { requestBody: { metadata: { name: "a" } }, status: 403 }),
    undefined,
    "asks the API server to create pod a; the answer is 403",
    "请求 API server 创建 Pod a；应答是 403",
    "step",
  ],
  [
    "kubelet",
    request("GET", "/api/v1/nodes/n", { status: undefined, failure: "ECONNREFUSED" }),
    undefined,
    "reads node n; there is no answer (ECONNREFUSED)",
    "读取节点 n；没有应答（ECONNREFUSED）",
    undefined,
  ],
  ["user", request("GET", PODS), undefined, "lists pods", "列出 pods", undefined],
  [
    "scheduler",
    request("POST", `${PODS}/web/binding`),
    undefined,
    "asks the API server to bind pod web",
    "请求 API server 绑定 Pod web",
    "step",
  ],
  [
    "kubelet",
    request("PATCH", `${PODS}/web/status?x=1`, { requestBody: { status: { phase: "Running" } } }),
    undefined,
    "reports that pod web is Running",
    "报告 Pod web 是 Running",
    "link",
  ],
  [
    "user",
    request("POST", `${PODS}/web/exec?command=ls`, { status: 101 }),
    undefined,
    "asks the API server to run a command in pod web",
    "请求 API server 在 Pod web 里运行命令",
    "step",
  ],
  [
    "controller",
    request("PUT", "/apis/apps/v1/namespaces/default/replicasets/web-1"),
    undefined,
    "asks the API server to update ReplicaSet web-1",
    "请求 API server 更新 ReplicaSet web-1",
    undefined,
  ],
  [
    "kubelet",
    call("RunPodSandbox"),
    state("default/web", "sandbox", "ready"),
    "asks the runtime to start a sandbox for pod web",
    "请求运行时为 Pod web 启动沙箱",
    "step",
  ],
  [
    "kubelet",
    call("StartContainer"),
    container,
    "asks the runtime to start container nginx",
    "请求运行时启动容器 nginx",
    "step",
  ],
  [
    "kubelet",
    call("StopContainer", "NotFound"),
    undefined,
    "asks the runtime to stop the container; the answer is NotFound",
    "请求运行时停止容器；应答是 NotFound",
    "step",
  ],
  ["runtime", container, undefined, "runs container nginx", "运行容器 nginx", "step"],
  [
    "runtime",
    state("default/web/nginx", "container", "exited (137, Error)"),
    undefined,
    "sees that container nginx has ended (137, Error)",
    "看到容器 nginx 结束了（137, Error）",
    "step",
  ],
  [
    "apiserver",
    state("pods default/web", "stored", "resourceVersion 162", { version: "u@162" }),
    undefined,
    "stores pod default/web, revision 162",
    "存入 Pod default/web，revision 162",
    "link",
  ],
  [
    "kubelet",
    { kind: "watch", type: "ADDED", resource: "pods", object: "default/web" },
    undefined,
    "hears that pod web was added",
    "得知 Pod web 新增了",
    "link",
  ],
  [
    "kubelet",
    { kind: "watch", type: "MODIFIED", resource: "pods", object: "default/web" },
    decision("DELETE from api: [default/web]"),
    "hears that pod web is to end",
    "得知 Pod web 要结束",
    "link",
  ],
  ["scheduler", decision("default/web goes to node-1"), undefined, "chooses node-1", "选择 node-1", "step"],
  [
    "kubelet",
    decision("ContainerDied default/web nginx 28da1de224"),
    undefined,
    "PLEG sees that container nginx has ended",
    "PLEG 看到容器 nginx 结束了",
    "step",
  ],
  [
    "kubelet",
    decision("ContainerStarted default/web sandbox 28da1de224"),
    undefined,
    "PLEG sees that the sandbox of pod default/web has started",
    "PLEG 看到 Pod default/web 的沙箱启动了",
    "link",
  ],
  ["apiserver", decision("allow get /x", { auditId: "a" }), undefined, "allows get /x", "允许 get /x", undefined],
  [
    "kubelet",
    state("pod default/web", "phase", "Running", { from: "Pending" }),
    undefined,
    "counts pod default/web as Running",
    "认为 Pod default/web 是 Running",
    "step",
  ],
  [
    "controller",
    state("node n", "Ready", "Unknown", { from: "True" }),
    undefined,
    "counts node n as Unknown",
    "认为节点 n 是 Unknown",
    "step",
  ],
];

const say = (await sentencesIn("zh"))?.say;
const topics = new Set((await openTopics("en")).flatMap((group) => group.topics.map(({ name }) => name)));

for (const [actor, what, effect, english, chinese, role] of table) {
  test(`a step of a story: ${english}`, () => {
    const event = fact(ID, what, { actor });
    const caused = effect && fact("fedcba9876543210", effect, { causedBy: ID });
    const step = storyStep(event, caused);
    assert.equal(step.text, english);
    assert.equal(storyStep(event, caused, say).text, chinese);
    assert.equal(roleInLife(event), role);
    assert.deepEqual(step.upstream, upstreamOf(event));
    assert.ok(step.topic === undefined || topics.has(step.topic), `kubelab explain ${step.topic}`);
  });
}

test("the IDs of a step are short", () => {
  const { text } = storyStep(fact(ID, decision(`remove ${"ab".repeat(32)}`), { actor: "kubelet" }), undefined);
  assert.equal(text, "removes abababababab");
});
