import assert from "node:assert/strict";
import type { DecodedFields, FieldTable, Init, InitFields } from "../../../src/staging/apimachinery/protobuf/fields.js";
import { type CriChannel, openCriChannel } from "../../../src/staging/cri/client.js";
import type { StreamRpc, UnaryRpc } from "../../../src/staging/cri/grpc/rpc.js";
import { expectOk, type RpcResult } from "../../../src/staging/cri/grpc/status.js";
import type { ContainerConfig } from "../../../src/staging/cri/messages/container.js";
import { NamespaceMode } from "../../../src/staging/cri/messages/enums.js";
import type { PodSandboxConfig } from "../../../src/staging/cri/messages/sandbox.js";
import { IMAGE_SERVICE, RUNTIME_SERVICE } from "../../../src/staging/cri/services.js";
import { Trace } from "../../../src/trace/trace.js";
import { SystemClock } from "../../../src/util/clock.js";

type SandboxConfig = Init<typeof PodSandboxConfig>;
type Config = Init<typeof ContainerConfig>;

/** Drives any runtime over the wire, as a kubelet would. */
export class CriDriver {
  readonly channel: CriChannel;
  #count = 0;

  constructor(
    endpoint: string,
    readonly image: string,
    /** containerd without a network plugin runs pods only in the host's network */
    readonly usesHostNetwork = false,
  ) {
    const clock = new SystemClock();
    this.channel = openCriChannel(endpoint, { clock, trace: new Trace(clock), actor: "kubelet" });
  }

  call<Req extends FieldTable, Res extends FieldTable>(
    rpc: UnaryRpc<Req, Res>,
    request: InitFields<Req>,
  ): Promise<RpcResult<DecodedFields<Res>>> {
    return this.channel.call(rpc, request, {});
  }

  async ok<Req extends FieldTable, Res extends FieldTable>(
    rpc: UnaryRpc<Req, Res>,
    request: InitFields<Req>,
  ): Promise<DecodedFields<Res>> {
    return expectOk(await this.call(rpc, request), rpc.name);
  }

  /** `OK`, or the code of the error. */
  async code<Req extends FieldTable, Res extends FieldTable>(
    rpc: UnaryRpc<Req, Res>,
    request: InitFields<Req>,
  ): Promise<string> {
    const result = await this.call(rpc, request);
    return result.outcome === "ok" ? "OK" : result.code;
  }

  stream<Req extends FieldTable, Res extends FieldTable>(
    rpc: StreamRpc<Req, Res>,
    request: InitFields<Req>,
    signal: AbortSignal,
  ): AsyncGenerator<DecodedFields<Res>> {
    return this.channel.stream(rpc, request, { signal });
  }

  sandboxConfig(more: SandboxConfig = {}): SandboxConfig {
    this.#count++;
    const name = `pod-${this.#count}`;
    const network = this.usesHostNetwork ? NamespaceMode.NODE : NamespaceMode.POD;
    return {
      metadata: { name, namespace: "default", uid: `uid-${this.#count}`, attempt: 0 },
      linux: { securityContext: { namespaceOptions: { network, pid: NamespaceMode.CONTAINER } } },
      ...more,
    };
  }

  async runSandbox(more: SandboxConfig = {}): Promise<{ readonly sandboxId: string; readonly config: SandboxConfig }> {
    const config = this.sandboxConfig(more);
    const { podSandboxId } = await this.ok(RUNTIME_SERVICE.runPodSandbox, { config });
    return { sandboxId: podSandboxId, config };
  }

  containerConfig(more: Config = {}): Config {
    this.#count++;
    const pid = NamespaceMode.CONTAINER;
    return {
      metadata: { name: `main-${this.#count}`, attempt: 0 },
      image: { image: this.image },
      command: ["sleep", "3600"],
      linux: { securityContext: { namespaceOptions: { pid } } },
      ...more,
    };
  }

  /** Creates a container, by default in a new sandbox. */
  async create(
    more: Config = {},
    sandbox?: { readonly sandboxId: string; readonly config: SandboxConfig },
  ): Promise<string> {
    const { sandboxId, config: sandboxConfig } = sandbox ?? (await this.runSandbox());
    const config = this.containerConfig(more);
    const request = { podSandboxId: sandboxId, config, sandboxConfig };
    return (await this.ok(RUNTIME_SERVICE.createContainer, request)).containerId;
  }

  async start(containerId: string): Promise<void> {
    await this.ok(RUNTIME_SERVICE.startContainer, { containerId });
  }

  async run(
    more: Config = {},
    sandbox?: { readonly sandboxId: string; readonly config: SandboxConfig },
  ): Promise<string> {
    const containerId = await this.create(more, sandbox);
    await this.start(containerId);
    return containerId;
  }

  async status(containerId: string) {
    const { status } = await this.ok(RUNTIME_SERVICE.containerStatus, { containerId });
    assert.ok(status !== undefined);
    return status;
  }

  pull(image: string) {
    return this.call(IMAGE_SERVICE.pullImage, { image: { image } });
  }

  close(): Promise<void> {
    return this.channel.close();
  }
}
