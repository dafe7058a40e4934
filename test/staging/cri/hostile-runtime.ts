import { Encoded } from "../../../src/staging/apimachinery/protobuf/fields.js";
import { RpcError } from "../../../src/staging/cri/grpc/status.js";
import { POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL } from "../../../src/staging/cri/labels.js";
import type { CriHandlers } from "../../../src/staging/cri/server.js";
import { startRuntime } from "./support.js";

type Runtime = CriHandlers["runtime"];

/** An answer that never comes. */
export const never = () => new Promise<never>(() => {});

export function refuse(): never {
  throw new RpcError("Unknown", "no");
}

/** A message of `count` empty messages in its first field: two bytes each. */
export function emptyMessages(count: number): Encoded {
  return new Encoded(Buffer.alloc(2 * count, Buffer.from([0x0a, 0])));
}

/** Container `id` of the pod `uid`. */
export function listedContainer(id: string, uid: string, state = 1) {
  const labels = { [POD_UID_LABEL]: uid, [POD_NAME_LABEL]: uid, [POD_NAMESPACE_LABEL]: "default" };
  return { id, metadata: { name: "c" }, image: { image: "i" }, state, labels };
}

/**
 * A runtime on a real socket with one running container and its sandbox, whose handlers a test replaces by hostile ones.
 * Closed after the test.
 */
export async function startHostileRuntime(hostile: Runtime) {
  const sandbox = { metadata: { name: "u0", uid: "u0", namespace: "default" }, state: 0, createdAt: 1n };
  const container = { metadata: { name: "c" }, image: { image: "i" }, imageRef: "i", createdAt: 1n, startedAt: 1n };
  const handlers: Runtime = {
    listPodSandbox: () => ({ items: [{ id: "s0", ...sandbox }] }),
    listContainers: () => ({ containers: [listedContainer("c0", "u0")] }),
    podSandboxStatus: ({ podSandboxId }) => ({ status: { id: podSandboxId, ...sandbox } }),
    containerStatus: ({ containerId }) => ({ status: { id: containerId, state: 1, ...container } }),
    ...hostile,
  };
  const calls = new Map<string, number>();
  const counting = new Proxy(handlers, {
    get(target, name) {
      const handler: unknown = Reflect.get(target, name);
      if (typeof name !== "string" || typeof handler !== "function") return handler;
      return (...given: unknown[]) => {
        calls.set(name, (calls.get(name) ?? 0) + 1);
        return Reflect.apply(handler, undefined, given);
      };
    },
  });
  const server = await startRuntime({ ...counting });
  return { endpoint: server.endpoint, calls: (method: keyof Runtime) => calls.get(method) ?? 0 };
}
