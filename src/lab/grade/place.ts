import { join } from "node:path";
import { ServerFaults } from "../../cluster/apiserver/endpoints/faults/server-faults.js";
import { type HostedRuntime, hostRuntime } from "../../cluster/runtime/host/host.js";
import type { RuntimeChange } from "../../cluster/runtime/state/changes.js";
import { kubeconfigText } from "../../staging/client-go/clientcmd/kubeconfig-text.js";
import type { KubeClient, RestConfig } from "../../staging/client-go/rest/client.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import { startEmbeddedControlPlane } from "../../testbed/target/embedded-control-plane.js";
import type { Ctx } from "../../trace/ctx.js";
import { Trace } from "../../trace/trace.js";
import { Disposables } from "../../util/async/disposables.js";
import { SystemClock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { makeFolder, writeFileAtomic } from "../../util/os/files.js";
import { makeTemporaryFolder, removeOwn } from "../../util/os/temporary-folder.js";
import type { Random } from "../../util/random.js";
import { bootstrapIdentity, nodeIdentity } from "./identity.js";
import { RequestLog } from "./request-log.js";
import { serveAgentTime, type TimeServer } from "./time-server.js";

/** The Node that the agent is asked to be. */
export const NODE_NAME = "graded";
/** More changes than any level causes. */
const MAX_CHANGES = 20_000;

export interface PlaceOptions {
  /** `1.25` */
  readonly kubeVersion: string;
  /** how many times as fast time passes for an agent that can follow it */
  readonly speed: number;
  /** the agent requests its own certificate: it gets a token, and no certificate */
  readonly bootstraps: boolean;
  /** validity of the certificates that the cluster signs, in ms; default a year */
  readonly certificateMs?: number;
}

/** A state change in the runtime, with its time. */
export type TimedChange = RuntimeChange & { readonly atMs: number };

/** A cluster without nodes, a container runtime and the files of one agent: where one level is examined. */
export interface Place extends AsyncDisposable {
  readonly clock: SystemClock;
  /** for clients of the examiner */
  readonly ctx: Ctx;
  readonly time: TimeServer;
  /** the administrator's */
  readonly client: KubeClient;
  readonly faults: ServerFaults;
  readonly requests: RequestLog;
  readonly runtime: HostedRuntime;
  /** of sandboxes, containers and images, the oldest first */
  readonly changes: readonly TimedChange[];
  /** values of the placeholders of the agent's command line: `kubeconfig`, `cri`, ... */
  readonly values: Readonly<Record<string, string>>;
}

/** Starts a control plane and a runtime on loopback, and writes the agent's files. @throws LabError as their starts */
export async function openPlace(options: PlaceOptions, random: Random, signal: AbortSignal): Promise<Place> {
  const open = new Disposables();
  try {
    return await openParts(options, random, open, signal);
  } catch (error) {
    await open.close();
    throw error;
  }
}

async function openParts(
  { kubeVersion, speed, bootstraps, certificateMs }: PlaceOptions,
  random: Random,
  open: Disposables,
  signal: AbortSignal,
): Promise<Place> {
  const folder = await makeTemporaryFolder("grade");
  open.defer(() => removeOwn(folder));
  const clock = new SystemClock();
  const trace = new Trace(clock);
  const deps = { clock, random, trace };
  const faults = new ServerFaults();
  const requests = new RequestLog(clock, trace);
  const control = await startEmbeddedControlPlane({
    ...{ ...deps, kubeVersion, faults, onRequest: requests.onRequest },
    ...defined({ clusterSigningDurationMs: certificateMs }),
  });
  open.defer(() => control.close());
  const runtime = await hostRuntime({ clock, trace, network: {} });
  open.defer(() => runtime.close());
  const changes: TimedChange[] = [];
  keepChanges(runtime, clock, changes, open);
  const client = createClient(control.admin, { ...deps, actor: "user" });
  open.defer(() => client.close());
  const address = { server: control.url, caPem: control.caPem };
  const values = {
    ...{ kubeconfig: join(folder, "kubeconfig"), bootstrap: join(folder, "bootstrap-kubeconfig"), server: control.url },
    ...{ cri: runtime.endpoint, node: NODE_NAME, manifests: join(folder, "manifests"), dir: join(folder, "agent") },
  };
  await Promise.all([makeFolder(values.manifests, 0o700), makeFolder(values.dir, 0o700)]);
  const ctx = { ...deps, client };
  if (bootstraps) await writeIdentity(values.bootstrap, await bootstrapIdentity(ctx, address));
  else await writeIdentity(values.kubeconfig, await nodeIdentity(ctx, address, NODE_NAME, kubeVersion, signal));
  const time = await serveAgentTime(clock, speed);
  open.defer(async () => time[Symbol.asyncDispose]());
  const close = () => open.close();
  return { clock, ctx: deps, time, client, faults, requests, runtime, changes, values, [Symbol.asyncDispose]: close };
}

async function writeIdentity(path: string, identity: RestConfig): Promise<void> {
  const names = { cluster: "kubelab", user: NODE_NAME, context: "kubelab" };
  await writeFileAtomic(path, kubeconfigText(identity, names), { mode: 0o600 });
}

function keepChanges(runtime: HostedRuntime, clock: SystemClock, changes: TimedChange[], open: Disposables): void {
  const stop = new AbortController();
  const read = async () => {
    for await (const change of runtime.control.changes(stop.signal)) {
      if (changes.length < MAX_CHANGES) changes.push({ ...change, atMs: clock.now() });
    }
  };
  // It ends with the signal or the runtime.
  const reading = read().catch(() => {});
  open.defer(async () => {
    stop.abort();
    await reading;
  });
}
