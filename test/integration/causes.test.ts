import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { TraceGraph } from "../../src/trace/graph/graph.js";
import { assertCauses, DOES, readTraces } from "../support/causes.js";
import { CliProcess, newHome, runCliProcess } from "../support/cli-process.js";
import { assertInOrder, inWords, PodChain } from "../support/pod-chain.js";
import { suiteNeeding } from "../support/requirements.js";

const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: { terminationGracePeriodSeconds: 1, containers: [{ name: "app", image: "nginx" }] },
};

/** A new folder with the pod's manifest. */
function homeWithPod(): string {
  const home = newHome();
  writeFileSync(join(home, "pod.json"), JSON.stringify(POD));
  return home;
}

describe("nearly every fact of a command has a cause or is an origin", () => {
  /** @returns whether the run ended by itself */
  type End = (run: CliProcess) => Promise<boolean>;
  const toItsEnd: End = async (run) => {
    assert.equal((await run.ended).code, 0);
    return true;
  };
  const until =
    (pattern: RegExp): End =>
    async (run) => {
      await run.says(pattern);
      await run.kill("SIGINT");
      return false;
    };
  const table: readonly (readonly [string[], End])[] = [
    [["bootstrap", "--node", "n1"], toItsEnd],
    [["csr", "create", "--node", "n1"], toItsEnd],
    [["token", "create"], toItsEnd],
    [["exec", "nettool", "--frames", "--", "ls"], toItsEnd],
    [["node", "--node", "n1", "--port", "0", "--manifest-dir", "pod.json"], until(/PATCH \S*\/pods\/web-n1\/status/)],
    [["lease", "--node", "n1"], until(/renewTime/)],
    [["pleg"], until(/ContainerStarted/)],
    [["static-pod"], until(/PATCH \S*\/pods\/web-\S+\/status/)],
    [["journey", "--delete"], toItsEnd],
  ];
  for (const [args, end] of table) {
    test(`kubelab ${args.join(" ")}`, async () => {
      const home = homeWithPod();
      const words = args.indexOf("--");
      const line = args.toSpliced(words < 0 ? args.length : words, 0, "--trace", "trace.ndjson", "-v", "2");
      const isWhole = await end(new CliProcess(home, line));
      assertCauses(readTraces(join(home, "trace.ndjson")), isWhole);
    });
  }
});

describe("the last step of a window's story follows from the key", () => {
  /** A window, a sign that it takes keys, a key, the title of its story, and the last that follows from it. */
  const table: readonly (readonly [string, RegExp, string, string, RegExp])[] = [
    ["pleg", /Relist 1: /, "k", "kill it (SIGKILL, exit code 137)", /ContainerDied /],
    ["pod-worker", /is up, and/, "p", "create a pod through the API", /ContainerStarted /],
    [
      "static-pod",
      /is up, and[\s\S]*create the mirror pod |create the mirror pod [\s\S]*is up, and/,
      "m",
      "delete the newest mirror pod through the API",
      /(?:create the mirror pod [\s\S]*){2}/,
    ],
    [
      "static-pod",
      /is up, and[\s\S]*ContainerStarted|ContainerStarted[\s\S]*is up, and/,
      "r",
      "remove the newest manifest",
      /ContainerDied /,
    ],
    [
      "static-pod",
      // A manifest that changes before its container runs ends no container.
      /is up, and[\s\S]*ContainerStarted|ContainerStarted[\s\S]*is up, and/,
      "c",
      "change the newest manifest",
      /ContainerDied /,
    ],
  ];
  for (const [window, isReady, key, title, last] of table) {
    test(`kubelab ${window}: ${key}`, async () => {
      const home = newHome();
      const run = new CliProcess(home, [window, "--ui", "--trace", "trace.ndjson", "-v", "2"]);
      const url = new URL(await run.says(/live page: (http:\S+)\s/));
      await run.says(isReady);
      url.pathname = "/keys";
      const headers = { "content-type": "application/json" };
      const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify({ key }) });
      assert.equal(answer.status, 200, await answer.text());
      await run.says(last);
      await run.kill("SIGINT");
      const graph = TraceGraph.of(readTraces(join(home, "trace.ndjson")));
      const told = graph.stories.filter((story) => story.title.startsWith(title)).flatMap(({ steps }) => steps);
      const facts = told.flatMap(({ fact }) => graph.get(fact) ?? []);
      const [first, end] = [facts[0], facts.at(-1)];
      assert(first !== undefined && end !== undefined && facts.length > 1, `no story ${title}`);
      assert.ok((first.kind === "step" ? first.title : first.kind === "decision" ? first.what : "").startsWith(title));
      assert.ok(graph.chainOf(end).includes(first), told.map(({ text }) => text).join("\n"));
      for (const { text } of told) assert.match(text, DOES);
    });
  }
});

suiteNeeding(["kubectl"], "the causes of a pod in a cluster of two nodes", () => {
  const home = homeWithPod();
  const kubeconfig = join(home, "state", "kubelab", "clusters", "kubelab.kubeconfig");
  const kubectl = (...args: string[]) =>
    execFileSync("kubectl", ["--kubeconfig", kubeconfig, ...args], { cwd: home, env: { ...process.env, HOME: home } });
  const traces = ["cluster.ndjson", "exec.ndjson"].map((name) => join(home, name));
  const facts = () => readTraces(...traces);
  let cluster: CliProcess;

  beforeAll(async () => {
    cluster = new CliProcess(home, ["cluster", "up", "--nodes", "2", "--trace", "cluster.ndjson"]);
    await cluster.says(/is ready/);
    kubectl("apply", "-f", "pod.json");
    kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s");
    const { code, stderr } = await runCliProcess(home, "exec", "web", "--trace", "exec.ndjson", "--", "ls");
    assert.equal(code, 0, stderr);
    kubectl("exec", "web", "--", "ls");
    kubectl("delete", "pod", "web");
    await cluster.kill("SIGINT");
  });
  afterAll(() => cluster.kill("SIGKILL"));

  const bound = [
    /^request POST \/api\/v1\/namespaces\/default\/pods$/,
    /^state pods default\/web stored/,
    /^watch pods/,
    /^decision default\/web goes to node-/,
    /^state pods default\/web stored/,
  ];
  const running = [
    ...bound,
    /^watch pods/,
    /^decision ADD from api/,
    /^step Sync pod default\/web/,
    // A relist finds both; the first event starts the sync.
    /^rpc (RunPodSandbox|StartContainer)/,
    /^decision ContainerStarted default\/web/,
    /^request PATCH \S*\/pods\/web\/status/,
  ];
  const deleted = [
    /^request DELETE/,
    /^state pods default\/web stored/,
    /^watch pods/,
    /^decision DELETE from api/,
    /^(rpc StopContainer|step Clean up after pod)/,
    /^request DELETE/,
  ];
  const execed = [/^step Run "ls" in web/, /^request POST \S*\/exec/, /^decision ask the kubelet/, /^rpc Exec$/];

  test("nearly every fact of three clients, two nodes and the control plane has a cause or is an origin", () => {
    assertCauses(facts());
  });

  test("from kubectl apply to the status that says Ready, and to its watchers", () => {
    const chain = new PodChain(facts(), "default/web");
    assertInOrder(chain.to(/ container running$/), [...running.slice(0, -3), /^rpc StartContainer/]);
    assertInOrder(
      chain.to(/^request PATCH \S*\/status/, (to) => to.every((one) => !/DELETE/.test(one))),
      running,
    );
    const server = new PodChain(facts(), "default/web", ["apiserver"]);
    const stored = [...running, /^state pods default\/web stored/];
    assertInOrder(
      server.to(/^state pods/, (to) => to.every((one) => !/DELETE/.test(one))),
      stored,
    );
  });

  test("from kubectl delete to the watchers that see the pod go", () => {
    const chain = new PodChain(facts(), "default/web", ["apiserver", "controller", "scheduler"]);
    assertInOrder(chain.to(/^state pods default\/web deleted/), [...deleted, /^state pods default\/web deleted/]);
    assertInOrder(chain.to(/^watch pods/), [...deleted, /^state pods default\/web deleted/, /^watch pods/]);
  });

  test("from an exec in another process to the runtime, and from kubectl's", () => {
    const all = facts();
    const execs = all.filter((event) => event.kind === "rpc" && event.method === "Exec");
    const graph = TraceGraph.of(all);
    const chains = execs.map((event) => graph.chainOf(event).map(inWords));
    assertInOrder(chains[0] ?? [], execed);
    assertInOrder(chains.at(-1) ?? [], execed.slice(1));
  });
});
