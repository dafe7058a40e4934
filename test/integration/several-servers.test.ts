import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { EtcdClient } from "../../src/cluster/apiserver/storage/etcd/client.js";
import { openEndpoints } from "../../src/cluster/apiserver/storage/etcd/endpoints.js";
import type { KubeObject } from "../../src/staging/apimachinery/api/meta.js";
import { RawHistory } from "../cluster/apiserver/storage/etcd/raw-history.js";
import { newHome, runCliProcess } from "../support/cli-process.js";
import { TestEtcd } from "../support/etcd.js";
import { suiteNeeding } from "../support/requirements.js";

const PODS = "/registry/pods/default/";

/** The ReplicaSet that a pod belongs to. */
const ownerOf = ({ metadata }: KubeObject) => metadata.ownerReferences?.[0]?.name;

suiteNeeding(["kubectl", "etcd"], "two servers of one cluster, each with a state folder of its own", () => {
  const [first, second] = [newHome(), newHome()];
  const file = (home: string, name: string) => join(home, "state", "kubelab", "clusters", name);
  const kubectl = (home: string, ...args: string[]) =>
    execFileSync("kubectl", ["--kubeconfig", file(home, "ha.kubeconfig"), ...args], {
      encoding: "utf8",
      env: { ...process.env, HOME: home },
    });
  const holders = () =>
    kubectl(second, "get", "leases", "-n", "kube-system", "-o", "jsonpath={.items[*].spec.holderIdentity}");
  const kill = (home: string) => process.kill(JSON.parse(readFileSync(file(home, "ha.json"), "utf8")).pid, "SIGKILL");
  const replicas = () => {
    const counts = kubectl(second, "get", "rs", "-o", "jsonpath={.items[*].status.replicas}").trim().split(" ");
    return counts.filter((count) => count !== "0" && count !== "");
  };
  let etcd: TestEtcd;
  let raw: EtcdClient;
  let history: RawHistory;
  /** How many pods each ReplicaSet has made, also those that are gone. */
  const podsMade = async () => {
    await history.read();
    const names = new Map<string, Set<string>>();
    for (const { id, key } of history.changes) names.set(id, (names.get(id) ?? new Set()).add(key));
    return [...names.values()].map(({ size }) => size);
  };
  const up = async (home: string, ...args: string[]) => {
    const flags = ["--name", "ha", "--detach", "--etcd", etcd.url, ...args];
    const started = await runCliProcess(home, "cluster", "up", ...flags);
    assert.equal(started.code, 0, started.stderr);
  };

  beforeAll(async () => {
    etcd = await TestEtcd.start();
    await up(first);
    await up(second, "--nodes", "2");
    raw = new EtcdClient(await openEndpoints({ servers: [etcd.url] }));
    const { metadata } = JSON.parse(kubectl(second, "get", "pods", "-o", "json"));
    history = new RawHistory(raw, PODS, ownerOf, Number(metadata.resourceVersion));
  });
  afterAll(async () => {
    for (const home of [first, second]) await runCliProcess(home, "cluster", "down", "--name", "ha");
    raw?.close();
    await etcd.stop();
  });

  test("the leader is killed during a rollout: the other server leads and finishes it", async () => {
    kubectl(first, "create", "deployment", "web", "--image=nginx:1.25", "--replicas=6");
    kubectl(second, "rollout", "status", "deployment/web", "--timeout=60s");
    const before = holders();
    const status = await runCliProcess(second, "cluster", "status", "--name", "ha", "--json");
    const { leaders } = JSON.parse(status.stdout) as { leaders: { component: string; isHere: boolean }[] };
    assert.deepEqual(
      leaders.map(({ component, isHere }) => [component, isHere]),
      [
        ["kube-controller-manager", false],
        ["kube-scheduler", false],
      ],
    );
    const shown = await runCliProcess(second, "cluster", "status", "--name", "ha");
    const { url: firstUrl } = JSON.parse(readFileSync(file(first, "ha.json"), "utf8")) as { url: string };
    assert.match(shown.stderr, /with 2 nodes of its own/);
    assert.match(shown.stdout, /kube-scheduler +led by another server, /);
    assert.match(shown.stdout, new RegExp(`another server +${firstUrl}$`, "m"));
    kubectl(first, "set", "image", "deployment/web", "nginx=nginx:1.26");
    kill(first);
    kubectl(second, "rollout", "status", "deployment/web", "--timeout=120s");
    assert.notEqual(holders(), before);
    assert.deepEqual(replicas(), ["6"]);
    assert.deepEqual(await podsMade(), [6, 6]);
    const events = kubectl(second, "get", "events", "-n", "kube-system", "--field-selector=reason=LeaderElection");
    assert.equal(events.match(/became leader/g)?.length, 4);
    // The dead server's endpoint goes with its lease.
    const endpoints = () =>
      kubectl(second, "get", "endpoints", "kubernetes", "-o", "jsonpath={.subsets[*].ports[*].port}");
    const { url } = JSON.parse(readFileSync(file(second, "ha.json"), "utf8")) as { url: string };
    while (endpoints() !== new URL(url).port);
  });

  test("the killed server comes back as a follower", async () => {
    await up(first);
    const status = await runCliProcess(first, "cluster", "status", "--name", "ha");
    assert.match(status.stdout, /^node-1 +Ready$/m);
    assert.match(status.stdout, /^kube-scheduler +led by another server, \S+$/m);
  });

  test("the follower is killed during a rollout: the leader stays, and goes on", async () => {
    const before = holders();
    kubectl(first, "set", "image", "deployment/web", "nginx=nginx:1.27");
    kill(first);
    kubectl(second, "rollout", "status", "deployment/web", "--timeout=120s");
    assert.equal(holders(), before);
    assert.deepEqual(replicas(), ["6"]);
    assert.deepEqual(await podsMade(), [6, 6, 6]);
  });
});
