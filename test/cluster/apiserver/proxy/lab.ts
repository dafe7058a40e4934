import { connect, type TLSSocket } from "node:tls";
import type { ControlPlaneOptions } from "../../../../src/cluster/control-plane/control-plane.js";
import { FakeKubelet, type FakeKubeletOptions } from "../../../support/fake-kubelet.js";
import { Face } from "../server/support.js";

export const PODS = "/api/v1/namespaces/default/pods";

/** A control plane with a pod `p` (container `c`) on a node with a fake kubelet. */
export class ProxyLab implements AsyncDisposable {
  private constructor(
    readonly face: Face,
    readonly kubelet: FakeKubelet,
  ) {}

  static async open(
    kubelet: FakeKubeletOptions = {},
    options: Partial<ControlPlaneOptions> = {},
    node: Record<string, unknown> = {},
  ): Promise<ProxyLab> {
    const face = await Face.open(options);
    const lab = new ProxyLab(face, await FakeKubelet.start(kubelet));
    await lab.post("/api/v1/namespaces/default/serviceaccounts", {
      kind: "ServiceAccount",
      metadata: { name: "default" },
    });
    const { nodeStatus } = lab.kubelet;
    await lab.post("/api/v1/nodes", { kind: "Node", metadata: { name: "n" }, status: { ...nodeStatus, ...node } });
    await lab.pod("p", ["c"], "n");
    return lab;
  }

  async pod(name: string, containers: readonly string[], nodeName?: string): Promise<void> {
    await this.post(PODS, {
      kind: "Pod",
      metadata: { name },
      spec: { containers: containers.map((one) => ({ name: one, image: "x" })), ...(nodeName ? { nodeName } : {}) },
    });
  }

  async post(path: string, body: Record<string, unknown>): Promise<void> {
    const { status, text } = await this.face.ask(path, { method: "POST", body: { apiVersion: "v1", ...body } });
    if (status !== 201) throw new Error(`${status}: ${text}`);
  }

  /** The server's address, and an administrator's credentials. */
  get access() {
    const { hostname, port } = new URL(this.face.controlPlane.url);
    const { cert = "", key = "" } = this.face.admin;
    return { host: hostname, port: Number(port), ca: this.face.controlPlane.caPem, cert, key };
  }

  /** Sends bytes on a new connection, as the administrator. */
  async raw(bytes: string): Promise<TLSSocket> {
    const socket = connect(this.access);
    socket.on("error", () => {});
    await new Promise<void>((resolve) => socket.once("secureConnect", resolve));
    socket.write(bytes);
    return socket;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kubelet.close();
    await this.face.close();
  }
}

/** Reads until the other side ends the connection. */
export async function untilEnd(socket: TLSSocket): Promise<string> {
  let seen = "";
  socket.setEncoding("latin1");
  socket.on("data", (text: string) => {
    seen += text;
  });
  await new Promise((resolve) => socket.once("close", resolve));
  return seen;
}

/** Reads until the text contains this. */
export function untilSeen(socket: TLSSocket, wanted: string): Promise<string> {
  let seen = "";
  return new Promise((resolve, reject) => {
    const take = (bytes: Buffer) => {
      seen += bytes.toString("latin1");
      if (!seen.includes(wanted)) return;
      socket.off("data", take);
      resolve(seen);
    };
    socket.on("data", take);
    socket.once("close", () => reject(new Error(`closed after ${JSON.stringify(seen)}`)));
  });
}

export function upgradeText(method: string, path: string, headers: readonly string[]): string {
  return `${[`${method} ${path} HTTP/1.1`, "Host: x", "Connection: Upgrade", ...headers].join("\r\n")}\r\n\r\n`;
}

export const SPDY = ["Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: v4.channel.k8s.io"];
