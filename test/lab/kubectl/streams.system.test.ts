import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, test } from "vitest";
import { clusterKubeconfig, readClusterState, writeClusterState } from "../../../src/testbed/target/cluster-state.js";
import { untilTrue } from "../../support/fake-clock.js";
import { runInProcess } from "../../support/run-cli.js";
import { StreamCluster } from "../../support/stream-cluster.js";

const DAY_MS = 86_400_000;

describe("the built-in kubectl on a cluster with a node", () => {
  let cluster: StreamCluster;
  const env = () => ({ ...cluster.env, KUBECONFIG: clusterKubeconfig(cluster.env, "kubelab") });
  beforeAll(async () => {
    cluster = await StreamCluster.start();
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  test("logs -f prints the log and what comes, until it is interrupted", async () => {
    const stop = new AbortController();
    let printed = "";
    const onStdout = (text: string) => {
      printed = text;
    };
    const options = { env: env(), signal: stop.signal, onStdout };
    const following = runInProcess(["learn", "kubectl", "--", "logs", "-f", "nginx", "--tail=1", "-v=6"], options);
    await untilTrue(() => printed.includes("\n"));
    stop.abort();
    const { code, stdout } = await following;
    assert.equal(code, 130);
    assert.equal(stdout.split("\n").length, 2);
  });

  test("describe reckons ages by the cluster's clock", async () => {
    const state = await readClusterState(cluster.env, "kubelab");
    assert.ok(state?.clock !== undefined);
    const ahead = { ...state.clock, clockMs: state.clock.clockMs + 10 * DAY_MS };
    await writeClusterState(cluster.env, { ...state, clock: ahead });
    const { stdout } = await runInProcess(["learn", "kubectl", "--", "describe", "nodes"], { env: env() });
    assert.match(stdout, / nginx +.*\b10d\n/);
    await writeClusterState(cluster.env, state);
  });

  const refused: readonly (readonly [string, RegExp])[] = [
    ["logs -f none", /^Error from server \(NotFound\): pods "none" not found\n$/],
    ["logs -f nginx -c none", /^error: container none is not valid for pod nginx\nIt has: nginx\.\n$/],
  ];
  test.each(refused)("%s is refused", async (line, message) => {
    const { code, stderr } = await runInProcess(["learn", "kubectl", "--", ...line.split(" ")], { env: env() });
    assert.equal(code, 1);
    assert.match(stderr, message);
  });

  test("a warning of the API server is on stderr, once", async () => {
    const get = ["learn", "kubectl", "--", "get", "componentstatuses"];
    const { stderr } = await runInProcess(get, { env: env() });
    assert.equal(stderr, "Warning: v1 ComponentStatus is deprecated in v1.19+\n");
  });
});
