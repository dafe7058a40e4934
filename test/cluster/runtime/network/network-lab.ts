import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MachinePorts } from "../../../../src/cluster/runtime/network/machine-ports.js";
import { Peers } from "../../../../src/cluster/runtime/network/peers.js";
import { type NetworkServer, serveNetwork } from "../../../../src/cluster/runtime/network/server.js";
import type { Container } from "../../../../src/cluster/runtime/state/container.js";
import type { Init } from "../../../../src/staging/apimachinery/protobuf/fields.js";
import { NamespaceMode } from "../../../../src/staging/cri/messages/enums.js";
import type { PodSandboxConfig } from "../../../../src/staging/cri/messages/sandbox.js";
import { RuntimeLab } from "../lab.js";

const AGNHOST = { image: "agnhost" };

/** A runtime whose network other nodes and its kubelet reach. */
export class NetworkNode extends RuntimeLab {
  #server: NetworkServer | undefined;
  #machine: MachinePorts | undefined;
  readonly socket: string;

  constructor(
    readonly folder: string,
    readonly node: string,
    readonly address: string,
  ) {
    super({ network: { address } });
    this.socket = join(folder, `${node}.sock`);
  }

  async open(podCidr: string): Promise<void> {
    this.#server = await serveNetwork(this.core.network, this.socket, this.clock);
    this.core.network.join(
      new Peers({ folder: join(this.folder, "peers"), node: this.node }, this.socket, this.address),
    );
    this.core.network.useCidr(podCidr);
    this.#machine = this.core.network.openMachine();
  }

  /** A pod with a subcommand of agnhost. */
  agnhost(...args: string[]): Container {
    return this.run({ image: AGNHOST, args });
  }

  async close(): Promise<void> {
    this.stop();
    this.#machine?.closeAll();
    this.core.network.peers?.close();
    await this.#server?.close();
  }

  /** A pod with host ports, whose container runs a subcommand of agnhost. @throws RpcError */
  async withHostPorts(mappings: Init<typeof PodSandboxConfig>["portMappings"], ...args: string[]): Promise<Container> {
    const sandbox = this.sandbox({ portMappings: mappings });
    await this.sandboxes.openHostPorts(sandbox);
    return this.run({ image: AGNHOST, args }, sandbox);
  }

  /** The same in the node's own network. */
  onHost(...args: string[]): Container {
    const securityContext = { namespaceOptions: { network: NamespaceMode.NODE } };
    return this.run({ image: AGNHOST, args }, this.sandbox({ linux: { securityContext } }));
  }

  /** As a process that is killed: its file stays, nothing answers. */
  async crash(): Promise<void> {
    this.stop();
    await this.#server?.close();
  }
}

export function ipOf({ sandbox }: Container): string {
  assert.ok(sandbox.ip !== undefined);
  return sandbox.ip;
}

/** Two nodes of one cluster. */
export async function openTwoNodes() {
  const folder = mkdtempSync(join(tmpdir(), "net-"));
  const a = new NetworkNode(folder, "a", "10.240.0.2");
  const b = new NetworkNode(folder, "b", "10.240.0.3");
  await a.open("10.244.1.0/24");
  await b.open("10.244.2.0/24");
  const close = async () => {
    await Promise.all([a.close(), b.close()]);
    rmSync(folder, { recursive: true, force: true });
  };
  return { a, b, close };
}
