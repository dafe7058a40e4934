import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { newHome, runCliProcess } from "../support/cli-process.js";
import { suiteNeeding } from "../support/requirements.js";

/** A Job's pods fail, and pods with `app: slow` never start. */
const STAGES = `
- name: fail
  match: {phase: Running, labels: {app: fails}}
  next: {phase: Failed}
- name: wait
  match: {phase: Pending, labels: {app: slow}}
  next: {}
`;

suiteNeeding(["kubectl"], "cluster up --simulated", () => {
  const home = newHome();
  const folder = mkdtempSync(join(tmpdir(), "kubelab-simulated-"));
  const stages = join(folder, "stages.yaml");
  writeFileSync(stages, STAGES);
  const kubectl = (...args: string[]) => {
    const kubeconfig = join(home, "state", "kubelab", "clusters", "sim.kubeconfig");
    const { status, stdout, stderr } = spawnSync("kubectl", ["--kubeconfig", kubeconfig, ...args], {
      encoding: "utf8",
      env: { ...process.env, HOME: home },
      timeout: 60_000,
    });
    return { status, stdout, stderr };
  };
  const done = (...args: string[]): string => {
    const { status, stdout, stderr } = kubectl(...args);
    assert.equal(status, 0, stderr);
    return stdout;
  };
  const cluster = (...args: string[]) => runCliProcess(home, "cluster", ...args);
  const up = (...flags: string[]) =>
    cluster("up", "--name", "sim", "--detach", "--data", join(folder, "data"), ...flags);

  beforeAll(async () => {
    const { code, stderr } = await up("--nodes", "3", "--simulated", "--stages", stages);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /with 3 simulated nodes/);
  });
  afterAll(async () => {
    await cluster("down", "--name", "sim");
    rmSync(folder, { recursive: true });
  });

  test("its nodes are as healthy as those of kubelets", () => {
    done("wait", "nodes", "--all", "--for=condition=Ready", "--timeout=60s");
    const path = "{range .items[*]}{range .status.conditions[*]}{.type}={.status} {end}{.spec.podCIDR}{'\\n'}{end}";
    const healthy = "MemoryPressure=False DiskPressure=False PIDPressure=False Ready=True";
    assert.deepEqual(
      done("get", "nodes", "-o", `jsonpath=${path.replaceAll("'", '"')}`)
        .trim()
        .split("\n"),
      [`${healthy} 10.128.0.0/24`, `${healthy} 10.128.1.0/24`, `${healthy} 10.128.2.0/24`],
    );
  });

  test("a Deployment runs, is scaled down, and its pods have addresses of their own", () => {
    done("create", "deployment", "web", "--image=nginx", "--replicas=9");
    done("rollout", "status", "deployment/web", "--timeout=60s");
    const ips = done("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].status.podIP}").split(" ");
    assert.equal(new Set(ips).size, 9);
    done("scale", "deployment/web", "--replicas=2");
    done("wait", "deployment/web", "--for=jsonpath={.status.replicas}=2", "--timeout=60s");
    const leaving = done("get", "pods", "-o", "jsonpath={.items[?(@.metadata.deletionTimestamp)].metadata.name}");
    if (leaving !== "") done("wait", "pod", ...leaving.split(" "), "--for=delete", "--timeout=60s");
    assert.equal(done("get", "pods", "-l", "app=web", "-o", "name").trim().split("\n").length, 2);
  });

  test("a Job completes; stages of the file come first", () => {
    done("create", "job", "ends", "--image=busybox");
    done("wait", "job/ends", "--for=condition=Complete", "--timeout=60s");
    done("run", "fails", "--image=nginx", "--restart=Never", "--labels=app=fails");
    done("run", "slow", "--image=nginx", "--labels=app=slow");
    done("wait", "pod/fails", "--for=jsonpath={.status.phase}=Failed", "--timeout=60s");
    assert.equal(
      done("get", "pod", "slow", "-o", "jsonpath={.status.phase}{.spec.nodeName}").slice(0, 12),
      "Pendingnode-",
    );
    done("delete", "pod", "slow", "fails", "--timeout=60s");
  });

  test("its nodes have Leases", () => {
    assert.match(done("get", "leases", "-n", "kube-node-lease", "-o", "name"), /node-1\n.*node-2\n.*node-3\n/);
  });

  describe("what needs a kubelet fails at once", () => {
    for (const [what, args, message] of [
      ["logs", ["logs", "deployment/web"], /dial tcp 10\.192\.0\.\d:10250: connect: connection refused/],
      ["exec", ["exec", "deployment/web", "--", "ls"], /dial tcp 10\.192\.0\.\d:10250: connect: connection refused/],
      [
        "port-forward",
        ["port-forward", "deployment/web", "8080:80"],
        /10\.192\.0\.\d:10250: connect: connection refused/,
      ],
      ["top", ["top", "pods"], /metrics not available yet/],
    ] as const) {
      test(what, () => {
        const { status, stderr } = kubectl(...args);
        assert.notEqual(status, 0);
        assert.match(stderr, message);
      });
    }
  });

  test("a drained node is empty, and its pods run elsewhere", () => {
    done("drain", "node-1", "--force", "--timeout=60s");
    done("rollout", "status", "deployment/web", "--timeout=60s");
    const nodes = done("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].spec.nodeName}");
    assert.doesNotMatch(nodes, /node-1/);
    done("uncordon", "node-1");
  });

  test("a deleted node stays away", async () => {
    done("delete", "node", "node-3");
    const { stdout } = await cluster("status", "--name", "sim");
    assert.doesNotMatch(stdout, /node-3/);
    assert.match(stdout, /node-2 +Ready/);
  });

  test("the folder's next cluster has simulated nodes again, and its pods go on", async () => {
    done("scale", "deployment/web", "--replicas=4");
    done("rollout", "status", "deployment/web", "--timeout=60s");
    const before = done("get", "pods", "-l", "app=web", "-o", "name");
    assert.equal((await cluster("down", "--name", "sim")).code, 0);
    const again = await up();
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stderr, /with 2 simulated nodes/);
    assert.equal(done("get", "pods", "-l", "app=web", "-o", "name"), before);
    done("wait", "nodes", "--all", "--for=condition=Ready", "--timeout=60s");
    done("scale", "deployment/web", "--replicas=6");
    done("rollout", "status", "deployment/web", "--timeout=60s");
  });
});

describe("flags and files that are refused: exit 2, one sentence", () => {
  const home = newHome();
  const file = join(home, "stages.yaml");
  writeFileSync(file, "- {name: a, next: {phase: Done}}");
  for (const [flags, message] of [
    [["--simulated"], /--simulated needs --nodes/],
    [["--nodes", "5001", "--simulated"], /from 0 to 100, or to 5000 with --simulated/],
    [["--nodes", "101"], /--nodes 101 is more than 100, the limit of nodes that run containers/],
    [["--nodes", "2", "--stages", file], /--stages needs --simulated/],
    [["--nodes", "2", "--simulated", "--with-system-pods"], /--with-system-pods needs nodes that run containers/],
    [["--nodes", "2", "--simulated", "--stages", "missing.yaml"], /cannot read .*missing\.yaml: no such file/],
    [
      ["--nodes", "2", "--simulated", "--stages", file],
      /stages\.yaml: stage 1 "a": next\.phase cannot be "Done": expected Pending, Running, Succeeded or Failed\n/,
    ],
  ] as const) {
    for (const detach of [[], ["--detach"]]) {
      test([...flags.filter((flag) => flag !== file), ...detach].join(" "), async () => {
        const { code, stderr } = await runCliProcess(home, "cluster", "up", ...flags, ...detach);
        assert.deepEqual([code, stderr.split("\n").filter((line) => line.startsWith("error:")).length], [2, 1], stderr);
        assert.match(stderr, message);
      });
    }
  }
});
