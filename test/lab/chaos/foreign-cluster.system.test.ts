import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KubeObject } from "../../../src/staging/apimachinery/api/meta.js";
import { loadRealKubeconfig } from "../../../src/staging/client-go/clientcmd/kubeconfig.js";
import { createClient } from "../../../src/staging/client-go/rest/create-client.js";
import { Trace } from "../../../src/trace/trace.js";
import { SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";
import { CliProcess, newHome, runCliProcess } from "../../support/cli-process.js";

const home = newHome();
const kubeconfig = join(home, "state/kubelab/clusters/foreign.kubeconfig");

const container = { name: "main", image: "nginx:1.25" };
const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "web" }, spec: { containers: [container] } };
/** web-1 is made when web-0 is ready, which is after its watch has gone silent. */
const readinessProbe = { exec: { command: ["true"] }, initialDelaySeconds: 3, periodSeconds: 1 };
const pair = {
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name: "web" },
  spec: {
    replicas: 2,
    serviceName: "web",
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ ...container, readinessProbe }] } },
  },
};
/** Where a run makes objects. */
const MADE = [
  "/api/v1/nodes",
  "/api/v1/pods",
  "/api/v1/services",
  "/api/v1/namespaces/kube-system/secrets",
  "/api/v1/namespaces/kube-system/serviceaccounts",
  "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
  "/apis/apps/v1/statefulsets",
  "/apis/certificates.k8s.io/v1/certificatesigningrequests",
  "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
];
const service = { apiVersion: "v1", kind: "Service", metadata: { name: "web" }, spec: { ports: [{ port: 80 }] } };
const READY = { condition: "pod/web=Ready", within: "60s" };

interface Part {
  readonly objects: readonly object[];
  readonly do: readonly object[];
  readonly expect: readonly object[];
}

const SCENARIOS: Readonly<Record<string, Part>> = {
  "requests are refused, and a watch ends with 410": {
    objects: [pod],
    do: [
      {
        when: "pod/web=Running",
        fault: "api-fault",
        with: { node: "node-1", code: 429, retryAfterSeconds: 1, count: 2 },
      },
      {
        when: "pod/web=Ready",
        fault: "watch-fault",
        with: { node: "node-1", resource: "pods", how: "expire", count: 1 },
      },
    ],
    expect: [
      READY,
      { condition: "fact=chaos answers 429 to", within: "60s" },
      { condition: "fact=chaos answers 410 in the watch of /api/v1/pods by system:node:node-1", within: "60s" },
    ],
  },
  "a half-open watch": {
    objects: [service, pair],
    do: [
      {
        when: "pod/web-0=Running",
        fault: "watch-fault",
        with: { node: "node-1", resource: "pods", how: "stall" },
        for: "10s",
      },
    ],
    expect: [
      { condition: "fact=chaos holds back", within: "60s" },
      { condition: "pod/web-1=Running", within: "8s", never: true },
      { condition: "pod/web-1=Ready", within: "90s" },
    ],
  },
  "a kubelet whose certificate has expired, then a server with another CA": {
    objects: [pod],
    do: [
      { when: "pod/web=Ready", fault: "certificate-expired", with: { node: "node-1" }, for: "12s" },
      { when: "fact=has expired", fault: "tls-fault", with: { how: "other-ca" }, for: "12s" },
    ],
    expect: [
      READY,
      { condition: "fact=chaos: the certificate of system:node:node-1 has expired", within: "60s" },
      { condition: "fact=the expected CA did not sign", within: "90s" },
    ],
  },
};

function fileOf(name: string, part: Part): string {
  const file = join(home, `${name.replaceAll(/\W+/g, "-")}.yaml`);
  writeFileSync(file, JSON.stringify({ title: name, ...part }));
  return file;
}

describe("scenarios on the API server of another process, in real time", () => {
  const run = (...words: string[]) => runCliProcess(home, "chaos", "run", ...words, "--kubeconfig", kubeconfig);
  let server: CliProcess;
  beforeAll(async () => {
    server = new CliProcess(home, ["cluster", "up", "--name", "foreign"]);
    await server.printed(/foreign is ready|kubectl --kubeconfig/);
  }, 60_000);
  afterAll(() => server.kill("SIGTERM"), 60_000);

  test("refused before anything is made: what only the embedded server can do, and a run without consent", async () => {
    for (const name of ["slow-etcd", "api-server-restart"]) {
      expect(await run(name, "--yes")).toMatchObject({ code: 2, stderr: expect.stringContaining("--kubeconfig") });
    }
    const calm = fileOf("calm", { objects: [pod], do: [], expect: [READY] });
    expect(await run(calm)).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes") });
    expect(await namesAt("/api/v1/nodes")).toEqual([]);
  });

  test.each(Object.entries(SCENARIOS))("%s", { timeout: 240_000 }, async (name, part) => {
    const before = await Promise.all(MADE.map(namesAt));
    const { code, stdout, stderr } = await run(fileOf(name, part), "--yes", "--json");
    const { judgements = [], server: address } = JSON.parse(stdout || "{}");
    expect(
      judgements.filter((one: { holds: boolean }) => !one.holds),
      stderr,
    ).toEqual([]);
    expect([code, address], stderr).toEqual([0, expect.stringContaining("https://127.0.0.1:")]);
    expect(await Promise.all(MADE.map(namesAt))).toEqual(before);
  });

  /** The names in a collection. */
  async function namesAt(path: string): Promise<readonly string[]> {
    const { config } = await loadRealKubeconfig({}, { kubeconfig });
    const clock = new SystemClock();
    await using client = createClient(config, {
      clock,
      random: new SystemRandom(),
      trace: new Trace(clock),
      actor: "user",
    });
    const { items } = await client.expect<{ readonly items: readonly KubeObject[] }>({ method: "GET", path });
    return items.map(({ metadata }) => metadata.name ?? "");
  }
});
