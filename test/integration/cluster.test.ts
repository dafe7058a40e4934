import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { isAlive } from "../../src/util/os/processes.js";
import { CliProcess, newHome, runCliProcess } from "../support/cli-process.js";
import { childrenOf } from "../support/processes.js";
import { suiteNeeding } from "../support/requirements.js";

interface StatusJson {
  readonly pid: number;
  readonly kubeconfig: string;
  readonly running: boolean;
  readonly nodes: readonly { readonly name: string; readonly status: string }[];
}

const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [
      { name: "c", image: "busybox:1.35", command: ["sleep", "3600"], resources: { requests: { cpu: "1" } } },
    ],
  },
};

function clustersFolder(home: string): string {
  return join(home, "state", "kubelab", "clusters");
}

/** The files in the folder of clusters, without logs. */
function leftovers(home: string): readonly string[] {
  return readdirSync(clustersFolder(home)).filter((name) => !name.endsWith(".log"));
}

suiteNeeding(["kubectl"], "kubelab cluster up --detach --nodes 2", () => {
  const home = newHome();
  const kubectl = (...args: string[]) =>
    execFileSync("kubectl", ["--kubeconfig", join(clustersFolder(home), "kubelab.kubeconfig"), ...args], {
      encoding: "utf8",
      env: { ...process.env, HOME: home },
    });
  afterAll(() => runCliProcess(home, "cluster", "down"));

  test("is up with two nodes that are Ready and have their labels; stdout is the line that kubectl is called with", async () => {
    const labels = ["--node-labels", "disk=ssd", "--node-labels", "node-2:zone=b"];
    const up = await runCliProcess(home, "cluster", "up", "--detach", "--nodes", "2", ...labels);
    assert.equal(up.code, 0, up.stderr);
    assert.match(up.stdout, /^kubectl --kubeconfig \S+kubelab\.kubeconfig\n$/);
    assert.match(up.stderr.replace(/\s+/g, " "), /is ready, in the background: v1\.25 at https:\S+, with 2 nodes/);
    assert.deepEqual(
      kubectl("get", "nodes", "--no-headers")
        .trim()
        .split("\n")
        .map((line) => line.split(/\s+/).slice(0, 2).join(" ")),
      ["node-1 Ready", "node-2 Ready"],
    );
    const labelled = (selector: string) => kubectl("get", "nodes", "-o", "name", "-l", selector);
    assert.deepEqual([labelled("disk=ssd"), labelled("zone")], ["node/node-1\nnode/node-2\n", "node/node-2\n"]);
    // Their kubelets serve where the nodes say, and their runtimes answer.
    for (const node of ["node-1", "node-2"]) {
      const ask = (path: string) => JSON.parse(kubectl("get", "--raw", `/api/v1/nodes/${node}${path}`));
      assert.equal(ask("/proxy/runningpods/").kind, "PodList");
      const { port } = ask("/proxy/configz").kubeletconfig;
      assert.equal(port, ask("").status.daemonEndpoints.kubeletEndpoint.Port);
    }
  });

  test("the nodes have certificates of their own, and the token that they joined with is gone", () => {
    const users = kubectl(
      "get",
      "csr",
      "-o",
      "jsonpath={range .items[*]}{.spec.username} {.status.conditions[0].type}{'\\n'}{end}",
    );
    assert.match(users, /^(system:bootstrap:[a-z0-9]{6} Approved\n){2}$/);
    assert.equal(
      kubectl(
        "get",
        "secrets",
        "-n",
        "kube-system",
        "--field-selector",
        "type=bootstrap.kubernetes.io/token",
        "-o",
        "name",
      ),
      "",
    );
    const own = ["--kubeconfig", join(clustersFolder(home), "kubelab.nodes", "node-1", "kubelet.config")];
    assert.equal(
      execFileSync("kubectl", [...own, "auth", "can-i", "update", "leases/node-1", "-n", "kube-node-lease"], {
        encoding: "utf8",
      }),
      "yes\n",
    );
  });

  test("a second up reports the running cluster and starts nothing", async () => {
    const before = (await status()).pid;
    const up = await runCliProcess(home, "cluster", "up", "--detach", "--nodes", "2");
    assert.equal(up.code, 0, up.stderr);
    assert.match(up.stderr, /is running already/);
    const after = await status();
    assert.deepEqual([after.pid, after.nodes.length], [before, 2]);
  });

  test("a second up with another release is refused, and the error of a command names both releases", async () => {
    const up = await runCliProcess(home, "cluster", "up", "--detach", "--kube-version", "1.32");
    assert.equal(up.code, 2);
    assert.match(up.stderr, /is running already, v1\.25, not v1\.32/);
    const list = await runCliProcess(home, "token", "list", "--kube-version", "1.32");
    assert.match(
      list.stderr.replace(/\s+/g, " "),
      /Cluster kubelab runs v1\.25, but --kube-version 1\.32 was given: .*on embedded control plane v1\.32/,
    );
    const named = await runCliProcess(home, "token", "list", "--cluster", "kubelab", "--speed", "10");
    assert.equal(named.code, 2);
    assert.match(
      named.stderr,
      /cluster kubelab runs at speed \d+, but --speed 10 was given\n.*kubelab cluster up --detach --name NAME --speed 10/,
    );
  });

  test("the scheduler binds a pod to one of them, which runs it", () => {
    writeFileSync(join(home, "pod.json"), JSON.stringify(POD));
    kubectl("create", "-f", join(home, "pod.json"));
    kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=20s");
    assert.match(
      kubectl("get", "pod", "web", "-o", "jsonpath={.status.phase} {.spec.nodeName}"),
      /^Running node-[12]$/,
    );
    assert.match(
      kubectl("describe", "pod", "web"),
      /Normal\s+Scheduled\s+\S+\s+default-scheduler\s+Successfully assigned default\/web to node-[12]/,
    );
  });

  test("a pod that fits nowhere reports why, and is bound once a node is uncordoned", () => {
    kubectl("cordon", "node-1");
    kubectl("cordon", "node-2");
    writeFileSync(join(home, "late.json"), JSON.stringify({ ...POD, metadata: { name: "late" } }));
    kubectl("create", "-f", join(home, "late.json"));
    kubectl("wait", "--for=condition=PodScheduled=False", "pod/late", "--timeout=10s");
    assert.match(
      kubectl("describe", "pod", "late"),
      /Warning\s+FailedScheduling\s+\S+\s+default-scheduler\s+0\/2 nodes are available: 2 node\(s\) were unschedulable\. preemption: 0\/2 nodes are available: 2 Preemption is not helpful for scheduling\./,
    );
    kubectl("uncordon", "node-2");
    kubectl("wait", "--for=condition=PodScheduled", "pod/late", "--timeout=10s");
    assert.equal(kubectl("get", "pod", "late", "-o", "jsonpath={.spec.nodeName}"), "node-2");
  });

  test("the error for an unknown cluster lists the running ones", async () => {
    const asked = await runCliProcess(home, "cluster", "status", "--name", "other");
    assert.equal(asked.code, 1);
    assert.match(asked.stderr, /no cluster named other is running\nRunning: kubelab\. Name one with --name\./);
  });

  test("status lists the nodes, for people and for scripts", async () => {
    const text = await runCliProcess(home, "cluster", "status");
    assert.equal(text.code, 0, text.stderr);
    assert.deepEqual(text.stdout.trim().split("\n").slice(1), ["node-1  Ready,SchedulingDisabled", "node-2  Ready"]);
    assert.deepEqual(
      (await status()).nodes.map(({ name }) => name),
      ["node-1", "node-2"],
    );
  });

  test("status without a name shows the cluster that other commands join, as in a lab's second terminal", async () => {
    const asked = new CliProcess(home, ["cluster", "status"], { KUBELAB_CLUSTER: "lab" });
    assert.match((await asked.ended).stderr, /no cluster named lab is running/);
  });

  test("killed with -9 it leaves a stale state file, which the next command recognises", async () => {
    const { pid } = await status();
    process.kill(pid, "SIGKILL");
    await gone(pid);
    assert.deepEqual(leftovers(home), ["kubelab.json", "kubelab.kubeconfig", "kubelab.lock", "kubelab.nodes"]);
    const asked = await runCliProcess(home, "cluster", "status");
    assert.equal(asked.code, 1);
    assert.match(asked.stderr.replace(/\s+/g, " "), /ended without cleaning up: its state file is removed/);
    assert.match(asked.stderr, /no cluster named kubelab is running/);
    // The next one sees that the process that locked the name has ended.
    assert.deepEqual(leftovers(home), ["kubelab.lock"]);
    const again = await runCliProcess(home, "cluster", "up", "--detach", "--nodes", "1");
    assert.equal(again.code, 0, again.stderr);
    assert.equal((await status()).nodes.length, 1);
  });

  test("down ends it, and nothing is left", async () => {
    const { pid } = await status();
    const ours = [pid, ...childrenOf(pid)];
    assert.equal(ours.length, 2, "the cluster, and the runtime of its node");
    const down = await runCliProcess(home, "cluster", "down");
    assert.equal(down.code, 0, down.stderr);
    assert.deepEqual(await Promise.all(ours.map(isAlive)), [false, false]);
    assert.deepEqual(leftovers(home), []);
    const again = await runCliProcess(home, "cluster", "down");
    assert.equal(again.code, 1);
  });

  async function status(): Promise<StatusJson> {
    const { code, stdout, stderr } = await runCliProcess(home, "cluster", "status", "--json");
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as StatusJson;
  }
});

describe("kubelab cluster up in the foreground", () => {
  for (const [what, signal] of [
    ["Ctrl-C", "SIGINT"],
    ["the terminal, closed,", "SIGHUP"],
  ] as const) {
    test(`${what} ends the nodes and the control plane, and leaves no files`, async () => {
      const home = newHome();
      const up = new CliProcess(home, ["cluster", "up", "--nodes", "1"]);
      await up.printed(/kubectl --kubeconfig/);
      const { code, stderr } = await up.kill(signal);
      assert.equal(code, 130, stderr);
      assert.match(stderr, /cluster kubelab is down\n$/);
      assert.doesNotMatch(stderr, /bug|error:/);
      assert.deepEqual(leftovers(home), []);
    });
  }

  for (const [what, made, killed] of [
    ["a stopped cluster ends by itself", "SIGSTOP", undefined],
    ["a cluster that does not respond is killed", "SIGUSR2", /did not end within 5 s of SIGTERM: ended with SIGKILL/],
  ] as const) {
    test(`down: ${what}, and no files are left`, async () => {
      const home = newHome();
      // Blocks the event loop as soon as the process gets SIGUSR2.
      const busy = join(home, "busy.cjs");
      writeFileSync(busy, 'process.on("SIGUSR2", () => { for (;;); });');
      const up = new CliProcess(home, ["cluster", "up"], { NODE_OPTIONS: `--require ${busy}` });
      await up.printed(/kubectl --kubeconfig/);
      const { pid } = up.child;
      assert(pid !== undefined);
      process.kill(pid, made);
      const down = await runCliProcess(home, "cluster", "down");
      assert.equal(down.code, 0, down.stderr);
      if (killed !== undefined) assert.match(down.stderr.replace(/\s+/g, " "), killed);
      const { signal } = await up.ended;
      assert.equal(signal, killed === undefined ? null : "SIGKILL");
      assert.deepEqual(
        leftovers(home).filter((name) => name !== "kubelab.lock"),
        [],
      );
    });
  }

  test("down: a process that has got the number of a killed cluster is left alone", async () => {
    const home = newHome();
    const other = new CliProcess(home, ["cluster", "up", "--name", "other"]);
    await other.printed(/kubectl --kubeconfig/);
    const state = JSON.parse(readFileSync(join(clustersFolder(home), "other.json"), "utf8")) as object;
    const reused = { ...state, name: "kubelab", processStart: "1" };
    writeFileSync(join(clustersFolder(home), "kubelab.json"), JSON.stringify(reused));
    const down = await runCliProcess(home, "cluster", "down");
    assert.equal(down.code, 1);
    assert.match(down.stderr, /ended without cleaning up/);
    assert.equal((await runCliProcess(home, "cluster", "status", "--name", "other")).code, 0);
    await other.kill("SIGTERM");
  });

  test("a half-written kubeconfig of a killed cluster is removed at the next start", async () => {
    const home = newHome();
    await runCliProcess(home, "cluster", "up", "--detach");
    const { pid } = JSON.parse(readFileSync(join(clustersFolder(home), "kubelab.json"), "utf8")) as StatusJson;
    process.kill(pid, "SIGKILL");
    await gone(pid);
    for (const name of ["kubelab.kubeconfig", "kubelab.json", "two.json"].map(
      (file) => `.${file}.4194305.0123abcd.tmp`,
    )) {
      writeFileSync(join(clustersFolder(home), name), "key");
    }
    const up = new CliProcess(home, ["cluster", "up"]);
    await up.printed(/kubectl --kubeconfig/);
    await up.kill("SIGTERM");
    // A cluster of another name may be writing its files.
    assert.deepEqual(leftovers(home), [".two.json.4194305.0123abcd.tmp"]);
  });

  test("--detach: --trace writes the cluster's own trace, and -v has no effect", async () => {
    const home = newHome();
    const loud = await runCliProcess(home, "cluster", "up", "--detach", "-v", "3");
    assert.equal(loud.code, 2);
    assert.match(loud.stderr, /--detach shows no trace, and -v 3 asks for one/);
    const up = await runCliProcess(home, "cluster", "up", "--detach", "--trace", "own.ndjson");
    assert.equal(up.code, 0, up.stderr);
    try {
      await runCliProcess(home, "token", "list");
      const again = await runCliProcess(home, "cluster", "up", "--detach", "--trace", "own.ndjson");
      assert.equal(again.code, 2);
      assert.match(again.stderr, /is running already, and began without this --trace/);
    } finally {
      await runCliProcess(home, "cluster", "down");
    }
    assert.match(readFileSync(join(home, "own.ndjson"), "utf8"), /"actor":"apiserver"/);
  });

  test("of two that start at once one runs, and the other reports it; no process is left after the end", async () => {
    const home = newHome();
    const flags = ["cluster", "up", "--detach", "--json"];
    const both = await Promise.all([runCliProcess(home, ...flags), runCliProcess(home, ...flags)]);
    for (const { code, stderr } of both) assert.equal(code, 0, stderr);
    const [pid, other] = both.map(({ stdout }) => (JSON.parse(stdout) as StatusJson).pid);
    try {
      assert.equal(pid, other);
    } finally {
      await runCliProcess(home, "cluster", "down");
      if (other !== undefined && other !== pid) process.kill(other, "SIGKILL");
    }
  });

  test("the hint for a cluster that does not run names that cluster", async () => {
    const home = newHome();
    const status = await runCliProcess(home, "cluster", "status", "--name", "two");
    assert.match(status.stderr, /Start it: kubelab cluster up --detach --name two/);
    const list = await runCliProcess(home, "token", "list", "--cluster", "two");
    assert.match(list.stderr, /Start it: kubelab cluster up --detach --name two/);
  });

  test("on a port in use: detached and foreground print the same error, and leave no files", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const port = String((taken.address() as AddressInfo).port);
    const home = newHome();
    const foreground = await runCliProcess(home, "cluster", "up", "--port", port);
    const detached = await runCliProcess(home, "cluster", "up", "--port", port, "--detach");
    taken.close();
    assert.deepEqual([foreground.code, detached.code], [2, 2]);
    assert.match(foreground.stderr, /cannot listen on 127\.0\.0\.1:\d+: the port is taken/);
    assert.equal(
      detached.stderr.replace("cluster kubelab did not start: ", "").replaceAll(/\s+/g, " "),
      foreground.stderr.replaceAll(/\s+/g, " "),
    );
    assert.deepEqual(readdirSync(clustersFolder(home)), []);
  });

  test("the trace has the scheduler's and the nodes' part", async () => {
    const home = newHome();
    const up = new CliProcess(home, ["cluster", "up", "--nodes", "1", "--trace", "trace.ndjson"]);
    await up.printed(/kubectl --kubeconfig/);
    await up.kill("SIGTERM");
    const file = join(home, "trace.ndjson");
    assert.ok(existsSync(file));
    const facts = readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { actor: string; kind: string; title?: string });
    assert.ok(facts.some(({ title }) => title === "Register node node-1"));
  });

  test("an invalid number of nodes is a usage error", async () => {
    const { code, stderr } = await runCliProcess(newHome(), "cluster", "up", "--nodes", "-1");
    assert.equal(code, 2);
    assert.match(stderr, /expected a number of nodes/);
  });
});

/** Until the process has gone. */
async function gone(pid: number): Promise<void> {
  for (let i = 0; i < 500; i++) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`process ${pid} is still there`);
}
