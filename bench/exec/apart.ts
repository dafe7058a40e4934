import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "../../src/staging/client-go/rest/create-client.js";
import { collectionPath, PODS } from "../../src/staging/client-go/rest/paths.js";
import { readClusterState } from "../../src/testbed/target/cluster-state.js";
import { joinCluster } from "../../src/testbed/target/target.js";
import { type Chain, clientOf, clock, never, random, trace } from "./chain.js";

const NAME = "bench";
const POD = { kind: "Pod", apiVersion: "v1", metadata: { name: "tool" } };
const SPEC = { containers: [{ name: "c", image: "nettool" }], terminationGracePeriodSeconds: 1 };

/**
 * The chain as people have it: `kubelab cluster up` is a process, `kubelab node`, which is kubelet and runtime, is another,
 * and the clients are a third, which is this one.
 */
export async function startApart(kubeVersion: string): Promise<Chain> {
  const home = await mkdtemp(join(tmpdir(), "kubelab-bench-"));
  const env = { ...process.env, HOME: home, XDG_STATE_HOME: join(home, "state") };
  const children: ChildProcess[] = [];
  const run = (...args: readonly string[]) => {
    const child = spawn(process.execPath, ["dist/cli.js", ...args, "-v", "0"], { env, stdio: "ignore" });
    children.push(child);
  };
  const close = async () => {
    for (const child of children.reverse()) {
      const ended = new Promise((resolve) => child.once("close", resolve));
      if (child.exitCode === null && child.kill("SIGTERM")) await ended;
    }
    await rm(home, { recursive: true, force: true });
  };
  try {
    run("cluster", "up", "--name", NAME, "--kube-version", kubeVersion);
    const state = await until(() => readClusterState(env, NAME));
    const { admin } = await joinCluster(state);
    run("node", "--cluster", NAME, "--root-dir", join(home, "node"), "--port", "0");
    await using client = createClient(admin, { clock, random, trace, actor: "user" });
    const pods = collectionPath({ ...PODS, namespace: "default" });
    await until(
      async () => (await client.request({ method: "POST", path: pods, body: { ...POD, spec: SPEC } })).status === 201,
    );
    for await (const { object } of client.watch(pods, {}, never)) {
      if ((object as { status?: { phase?: string } }).status?.phase === "Running") break;
    }
    return { client: clientOf(admin), [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Asks until there is an answer: a process that starts tells nobody how far it is. */
async function until<T>(ask: () => Promise<T>): Promise<Exclude<T, undefined | false>> {
  for (let attempt = 0; attempt < 600; attempt++) {
    const answer = await ask().catch(() => undefined);
    if (answer !== undefined && answer !== false) return answer as Exclude<T, undefined | false>;
    await clock.sleep(50);
  }
  throw new Error("30 s, and it has not started");
}
