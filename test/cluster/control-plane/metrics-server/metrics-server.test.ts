import assert from "node:assert/strict";
import { afterEach, describe, test } from "vitest";
import { settle, untilTrue } from "../../../support/fake-clock.js";
import { PODS, ProxyLab } from "../../apiserver/proxy/lab.js";

const API = "/apis/metrics.k8s.io/v1beta1";
const METRICS = `${API}/namespaces/default/pods`;

/** A kubelet whose pods use half a core. */
class Usage {
  answers = true;
  pods: readonly string[] = ["p"];
  startedMs = 0;

  text(nowMs: number): string {
    const seconds = (nowMs - Date.UTC(2025, 0, 1)) / 2000;
    const ofPods = this.pods.flatMap((pod) => {
      const labels = `{container="c",namespace="default",pod="${pod}"}`;
      return [
        `container_cpu_usage_seconds_total${labels} ${seconds} ${nowMs}`,
        `container_memory_working_set_bytes${labels} 2097152 ${nowMs}`,
        `container_start_time_seconds${labels} ${this.startedMs / 1000} ${nowMs}`,
      ];
    });
    return [
      `node_cpu_usage_seconds_total ${seconds} ${nowMs}`,
      `node_memory_working_set_bytes 4194304 ${nowMs}`,
      ...ofPods,
      "",
    ].join("\n");
  }
}

let lab: ProxyLab | undefined;
afterEach(async () => {
  await lab?.[Symbol.asyncDispose]();
  lab = undefined;
});

async function open(usage = new Usage()): Promise<ProxyLab> {
  const opened: ProxyLab = await ProxyLab.open({
    respond(_request, response) {
      if (usage.answers) response.end(usage.text(opened.face.clock.now()));
      else response.writeHead(503).end("no");
    },
  });
  lab = opened;
  return opened;
}

/** Asks, and moves the clock while the answer waits for the second reading. */
async function firstRead({ face, kubelet }: ProxyLab, path: string) {
  const asked = kubelet.asked.length;
  const answer = face.ask(path);
  await untilTrue(() => kubelet.asked.length > asked && face.clock.sleeping > 0);
  await settle(20);
  await face.clock.advance(1_000);
  return answer;
}

describe("metrics.k8s.io", () => {
  test("a node's usage, from two readings of its kubelet as the API server's client", async () => {
    const { kubelet } = await open();
    const { status, body } = await firstRead(lab as ProxyLab, `${API}/nodes`);
    assert.equal(status, 200);
    assert.equal(body.kind, "NodeMetricsList");
    assert.deepEqual(body.items[0].usage, { cpu: "500m", memory: "4Mi" });
    assert.equal(body.items[0].window, "1s");
    assert.equal(body.items[0].metadata.name, "n");
    assert.deepEqual(
      kubelet.asked.map(({ url, client }) => `${url} ${client}`),
      Array(2).fill("/metrics/resource CN=kube-apiserver-kubelet-client,O=system:masters"),
    );
  });

  test("pods by label, and as a table", async () => {
    const { face } = await open();
    await firstRead(lab as ProxyLab, METRICS);
    const patch = { "content-type": "application/merge-patch+json" };
    await face.ask(`${PODS}/p`, { method: "PATCH", headers: patch, body: { metadata: { labels: { app: "web" } } } });
    for (const [query, want] of [
      ["", ["p"]],
      ["?labelSelector=app%3Dweb", ["p"]],
      ["?labelSelector=app%3Dother", []],
      ["?fieldSelector=metadata.name%3Dp", ["p"]],
    ] as const) {
      const { body } = await face.ask(`${METRICS}${query}`);
      assert.deepEqual(
        body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name),
        want,
        query,
      );
    }
    const { body } = await face.ask(`${METRICS}/p`);
    assert.deepEqual(body.containers, [{ name: "c", usage: { cpu: "500m", memory: "2Mi" } }]);
    assert.deepEqual(body.metadata.labels, { app: "web" });
    const table = await face.ask(METRICS, { headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" } });
    assert.deepEqual(table.body.rows[0].cells, ["p", "500m", "2Mi", "1s"]);
  });

  test("what is not there, or not measured yet, is not found", async () => {
    const usage = new Usage();
    usage.pods = [];
    const { face } = await open(usage);
    await firstRead(lab as ProxyLab, `${API}/nodes`);
    for (const [path, message] of [
      [`${METRICS}/p`, 'podmetrics.metrics.k8s.io "default/p" not found'],
      [`${METRICS}/q`, 'pods "q" not found'],
      [`${API}/nodes/other`, 'nodes "other" not found'],
    ] as const) {
      const { status, body } = await face.ask(path);
      assert.equal(status, 404);
      assert.equal(body.message, message);
    }
    // A young pod has no usage before it is ten seconds old, or before its second reading.
    usage.pods = ["p"];
    usage.startedMs = face.clock.now();
    assert.equal((await face.ask(`${METRICS}/p`)).status, 404);
    for (let i = 0; i < 2; i++) {
      const before = lab?.kubelet.asked.length ?? 0;
      await face.clock.advance(15_000);
      await untilTrue(() => (lab?.kubelet.asked.length ?? 0) > before);
      await settle(20);
    }
    assert.equal((await face.ask(`${METRICS}/p`)).status, 200);
  });

  test("a kubelet that does not answer has no usage; the others have", async () => {
    const usage = new Usage();
    usage.answers = false;
    await open(usage);
    const { status, body } = await firstRead(lab as ProxyLab, `${API}/nodes`);
    assert.deepEqual([status, body.items], [200, []]);
  });

  test("only get and list are allowed", async () => {
    const { face } = await open();
    for (const [method, path] of [
      ["POST", METRICS],
      ["DELETE", `${METRICS}/p`],
      ["GET", `${METRICS}?watch=true`],
    ] as const) {
      assert.equal((await face.ask(path, { method })).status, 405, `${method} ${path}`);
    }
  });

  test("discovery and OpenAPI show the group", async () => {
    const { face } = await open();
    const { body } = await face.ask(API);
    assert.deepEqual(
      body.resources.map(({ name, kind, namespaced, verbs }: Record<string, unknown>) => [
        name,
        kind,
        namespaced,
        verbs,
      ]),
      [
        ["nodes", "NodeMetrics", false, ["get", "list"]],
        ["pods", "PodMetrics", true, ["get", "list"]],
      ],
    );
    const { body: document } = await face.ask("/openapi/v3/apis/metrics.k8s.io/v1beta1");
    assert.ok(document.components.schemas["io.k8s.metrics.pkg.apis.metrics.v1beta1.PodMetrics"]);
  });
});

describe("kubelets are asked only while there is a reader", () => {
  test("nothing before the first; every 15 s after it; nothing a minute after the last", async () => {
    const { face, kubelet } = await open();
    await face.clock.advance(600_000);
    await settle(20);
    assert.equal(kubelet.asked.length, 0);
    await firstRead(lab as ProxyLab, `${API}/nodes`);
    assert.equal(kubelet.asked.length, 2);
    for (let asked = 3; asked <= 6; asked++) {
      await face.clock.advance(15_000);
      await untilTrue(() => kubelet.asked.length === asked);
      await settle(20);
    }
    await face.clock.advance(600_000);
    await settle(20);
    assert.equal(kubelet.asked.length, 6);
    // A later reader starts it again.
    assert.equal((await firstRead(lab as ProxyLab, `${API}/nodes`)).body.items.length, 1);
  });
});
