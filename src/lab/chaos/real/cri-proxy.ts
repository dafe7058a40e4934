import { join } from "node:path";
import { Faults, type RpcName } from "../../../cluster/runtime/control/faults.js";
import type { HostedRuntime } from "../../../cluster/runtime/host/host.js";
import type { FieldTable } from "../../../staging/apimachinery/protobuf/fields.js";
import { type CriChannel, openCriChannel } from "../../../staging/cri/client.js";
import { type ServedMethod, serveGrpc } from "../../../staging/cri/grpc/grpc-server.js";
import { type AnyRpc, type StreamRpc, type UnaryRpc, v1alpha2Of } from "../../../staging/cri/grpc/rpc.js";
import type { CallContext } from "../../../staging/cri/grpc/served-call.js";
import { RpcError } from "../../../staging/cri/grpc/status.js";
import { createCriClient } from "../../../staging/cri/remote/create-cri-client.js";
import { IMAGE_SERVICE, isInV1alpha2, RUNTIME_SERVICE } from "../../../staging/cri/services.js";
import { Trace } from "../../../trace/trace.js";
import { Disposables } from "../../../util/async/disposables.js";
import type { Clock } from "../../../util/clock.js";
import { ProxiedControl } from "./proxied-control.js";
import { RuntimeAnswers } from "./runtime-answers.js";

type Fields = Readonly<Record<string, unknown>>;

/** What a proxy before a container runtime needs. */
export interface CriProxyDeps {
  readonly clock: Clock;
  /** has a fact for each fault that meets a call */
  readonly trace: Trace;
  readonly signal: AbortSignal;
}

/**
 * Opens a proxy before a container runtime, whose faults meet the calls that go through it. At its end it removes the sandboxes that
 * were not there at its begin: their kubelet is gone.
 * @param to the runtime's endpoint
 * @param folder contains the proxy's socket
 * @throws LabError as `createCriClient`
 */
export async function openCriProxy(deps: CriProxyDeps, to: string, folder: string): Promise<HostedRuntime> {
  const { clock, trace, signal } = deps;
  const open = new Disposables();
  try {
    const quiet = { clock, trace: new Trace(clock), actor: "runtime" } as const;
    const client = await createCriClient(to, quiet, {}, signal);
    open.defer(() => client.close());
    const { runtimeName, runtimeVersion } = client.version;
    const note = (text: string) => trace.emit({ kind: "note", text }, { actor: "runtime", level: 1 });
    note(`chaos runs a proxy before ${runtimeName} ${runtimeVersion} at ${to}`);
    const onMet = (rpc: RpcName) => note(`chaos meets ${rpc} on its way to ${to}`);
    const faults = new Faults(clock, { onMet });
    open.defer(async () => faults.clear());
    const control = await ProxiedControl.open(client, faults, new RuntimeAnswers(), signal);
    open.defer(() => control.removeNew(clock));
    const channel = openCriChannel(to, quiet);
    open.defer(() => channel.close());
    const endpoint = `unix://${join(folder, "chaos.sock")}`;
    const server = await serveGrpc(methods(channel, faults, control.answers), endpoint, { trace });
    open.defer(() => server.close());
    const close = () => open.close();
    const nothing = { networkSocket: undefined, nodeAddress: undefined, pid: undefined };
    return { endpoint, control, ...nothing, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await open.close();
    throw error;
  }
}

/** Each call of both versions goes on to the runtime. Messages have the fields that a kubelet of kubelab knows. */
function methods(channel: CriChannel, faults: Faults, answers: RuntimeAnswers): readonly ServedMethod[] {
  const rpcs: readonly AnyRpc[] = [...Object.values(RUNTIME_SERVICE), ...Object.values(IMAGE_SERVICE)];
  return [...rpcs, ...rpcs.filter(isInV1alpha2).map(v1alpha2Of)].map((rpc) => ({
    rpc,
    handler: (request, context) => faults.serve(context, request, () => passOn(channel, answers, request, context)),
  }));
}

function passOn(channel: CriChannel, answers: RuntimeAnswers, request: Fields, { rpc, signal }: CallContext): unknown {
  answers.before(rpc.name, request);
  if (rpc.isStream) {
    const events = channel.stream(rpc as StreamRpc<FieldTable, FieldTable>, request, { signal });
    return rpc.name === RUNTIME_SERVICE.getContainerEvents.name ? answers.events(events) : events;
  }
  return channel.call(rpc as UnaryRpc<FieldTable, FieldTable>, request, { signal }).then((result) => {
    if (result.outcome !== "ok") throw new RpcError(result.code, result.message);
    return answers.after(rpc.name, result.value as Fields);
  });
}
