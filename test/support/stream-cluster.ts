import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { ControlPlane } from "../../src/cluster/control-plane/control-plane.js";
import { startControlPlane } from "../../src/cluster/control-plane/start.js";
import { CliSession } from "../../src/commands/cli/session.js";
import { PROGRAM } from "../../src/commands/main.js";
import { kubeconfigText } from "../../src/staging/client-go/clientcmd/kubeconfig-text.js";
import type { KubeClient } from "../../src/staging/client-go/rest/client.js";
import { createClient } from "../../src/staging/client-go/rest/create-client.js";
import { RequestTrace } from "../../src/testbed/fixtures/request-trace.js";
import { type SampleNode, startSampleNode } from "../../src/testbed/fixtures/sample-node.js";
import { clusterKubeconfig, makeClustersFolder, writeClusterState } from "../../src/testbed/target/cluster-state.js";
import type { TraceEvent } from "../../src/trace/events.js";
import { SystemClock } from "../../src/util/clock.js";
import { writeFileAtomic } from "../../src/util/os/files.js";
import { SystemRandom } from "../../src/util/random.js";
import { recordingTrace } from "./trace.js";

/**
 * A cluster in this process with a node and the pods nettool and nginx, which commands join like any running cluster.
 */
export class StreamCluster implements AsyncDisposable {
  private constructor(
    readonly controlPlane: ControlPlane,
    readonly node: SampleNode,
    /** an administrator's client */
    readonly client: KubeClient,
    /** environment variables for commands */
    readonly env: Readonly<Record<string, string>>,
    /** the servers' trace events about streams */
    readonly events: readonly TraceEvent[],
    readonly story: RequestTrace,
    readonly folder: string,
  ) {}

  static async start(kubeVersion = "1.25", kubeletCaPem?: string): Promise<StreamCluster> {
    const folder = mkdtempSync(join(tmpdir(), "kubelab-streams-"));
    const env = { HOME: folder, XDG_STATE_HOME: join(folder, "state") };
    const clock = new SystemClock();
    const random = new SystemRandom();
    const { trace, events } = recordingTrace(clock);
    const story = new RequestTrace(trace);
    const ca = kubeletCaPem === undefined ? {} : { kubeletCaPem };
    const controlPlane = await startControlPlane({ clock, random, trace: story.trace, kubeVersion, ...ca });
    const none = async () => {};
    const target = {
      kind: "embedded",
      admin: controlPlane.admin,
      description: "",
      kubeVersion,
      close: none,
      [Symbol.asyncDispose]: none,
    } as const;
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
    const context = new CliSession(
      {
        env,
        cwd: folder,
        streams,
        random,
        self: ["false"],
        signal: new AbortController().signal,
      },
      PROGRAM,
    );
    await context.load();
    const node = await startSampleNode({ context, clock, story }, target, ["nettool", "nginx"], "running");
    const kubeconfig = clusterKubeconfig(env, "kubelab");
    await makeClustersFolder(env);
    const names = { cluster: "kubelab", user: "admin", context: "kubelab" };
    await writeFileAtomic(kubeconfig, kubeconfigText(controlPlane.admin, names), { mode: 0o600 });
    const { url } = controlPlane;
    const state = {
      version: 1,
      name: "kubelab",
      pid: process.pid,
      url,
      kubeconfig,
      kubeVersion,
      speed: 1,
      clock: clock.reading,
    } as const;
    await writeClusterState(env, { ...state, nodes: 1 });
    const client = createClient(controlPlane.admin, { clock, random, trace, actor: "user" });
    return new StreamCluster(controlPlane, node, client, env, events, story, folder);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.node.close();
    await this.controlPlane.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
