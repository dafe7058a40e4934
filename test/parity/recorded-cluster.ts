import type { ControlPlane } from "../../src/cluster/control-plane/control-plane.js";
import { startControlPlane } from "../../src/cluster/control-plane/start.js";
import type { KubeClient } from "../../src/staging/client-go/rest/client.js";
import { createClient } from "../../src/staging/client-go/rest/create-client.js";
import { tokenSecret } from "../../src/staging/cluster-bootstrap/secret.js";
import { createCertificateRequest } from "../../src/staging/pki/csr.js";
import { generatePrivateKey } from "../../src/staging/pki/keys.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";
import type { Item } from "./item.js";
import { WebSocketKubelet } from "./websocket-kubelet.js";

const TOKEN = { id: "abcdef", secret: "0123456789abcdef" };
const NODES = "/api/v1/nodes";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
interface RecordedWatch {
  readonly response: {
    readonly events: { readonly type: string; readonly object: { readonly metadata: { readonly name: string } } }[];
  };
}

const SETTLED_MS = 60_000;
/** A watch can begin with any change of the last 75 s; those of earlier topics were older when this one was recorded. */
const FORGOTTEN_MS = 80_000;

/**
 * An embedded control plane in the state of the recorded one: with the recorder's token, and the objects that two real
 * kubelets, real-1 and real-2, had left.
 */
export class RecordedCluster implements AsyncDisposable {
  #kubelet: WebSocketKubelet | undefined;

  private constructor(
    readonly controlPlane: ControlPlane,
    readonly admin: KubeClient,
    readonly token: KubeClient,
  ) {}

  static async start(): Promise<RecordedCluster> {
    const clock = new SystemClock();
    const random = new SystemRandom();
    const trace = new Trace(clock);
    const controlPlane = await startControlPlane({ clock, random, trace, kubeVersion: "1.25", likeRecorded: true });
    const deps = { clock, random, trace, actor: "user" } as const;
    const { url, caPem } = controlPlane;
    const admin = createClient(controlPlane.admin, deps);
    const token = createClient({ server: url, caPem, token: `${TOKEN.id}.${TOKEN.secret}` }, deps);
    const body = tokenSecret({
      token: TOKEN,
      usages: ["authentication", "signing"],
      groups: ["system:bootstrappers:kubeadm:default-node-token"],
    });
    await admin.expect({ method: "POST", path: "/api/v1/namespaces/kube-system/secrets", body });
    return new RecordedCluster(controlPlane, admin, token);
  }

  /** Objects that existed when this topic was recorded but do not result from earlier topics. */
  async prepare(topic: string): Promise<void> {
    if (topic === "auth") await this.#leaveRequests();
    if (topic === "lease-node") await this.#leaveNode("real-2");
    if (topic === "expiry") await this.#repeat("ADDED", "kw");
    if (topic === "websocket") this.#kubelet = await WebSocketKubelet.start(this.admin);
    if (topic === "watch") await new SystemClock().sleep(FORGOTTEN_MS);
  }

  /** Visible changes by other clients in the recorded cluster while this topic was recorded. */
  async meanwhile(topic: string, recorded: readonly Item[], signal: AbortSignal): Promise<void> {
    if (topic !== "expiry") return;
    // The recorder has its first list by then, and reads later changes only ten minutes later.
    await new SystemClock().sleep(SETTLED_MS, signal);
    const watch = recorded.find(({ name }) => name.startsWith("watch from the same resourceVersion"));
    const { response } = watch as unknown as RecordedWatch;
    for (const { type, object } of response.events) await this.#repeat(type, object.metadata.name);
  }

  async cleanUp(topic: string): Promise<void> {
    if (topic === "lease-node") await this.admin.expect({ method: "DELETE", path: `${NODES}/real-2` });
    await this.#kubelet?.[Symbol.asyncDispose]();
    this.#kubelet = undefined;
  }

  /** The write to a config map that appeared in a watch. */
  async #repeat(type: string, name: string): Promise<void> {
    const path = `${CONFIG_MAPS}/${name}`;
    if (type === "ADDED") {
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
      await this.admin.expect({ method: "POST", path: CONFIG_MAPS, body });
    } else if (type === "DELETED") {
      await this.admin.expect({ method: "DELETE", path });
    } else {
      const body = { data: { changed: "yes" } };
      await this.admin.expect({ method: "PATCH", path, body, contentType: "application/merge-patch+json" });
    }
  }

  /** The requests with which the two kubelets joined, approved and signed. */
  async #leaveRequests(): Promise<void> {
    const left = await this.admin.expect<{ items: unknown[] }>({ method: "GET", path: CSRS });
    if (left.items.length > 0) return;
    for (const node of ["real-1", "real-2"]) {
      const subject = { commonName: `system:node:${node}`, organization: ["system:nodes"] };
      const pem = createCertificateRequest(await generatePrivateKey("ec"), { subject });
      await this.token.expect({
        method: "POST",
        path: CSRS,
        body: {
          apiVersion: "certificates.k8s.io/v1",
          kind: "CertificateSigningRequest",
          metadata: { generateName: "csr-" },
          spec: {
            request: Buffer.from(pem).toString("base64"),
            signerName: "kubernetes.io/kube-apiserver-client-kubelet",
            usages: ["digital signature", "key encipherment", "client auth"],
          },
        },
      });
    }
  }

  /** A node with its lease, as a kubelet creates them. */
  async #leaveNode(name: string): Promise<void> {
    const node = await this.admin.expect<{ metadata: { uid: string } }>({
      method: "POST",
      path: NODES,
      body: { apiVersion: "v1", kind: "Node", metadata: { name } },
    });
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid: node.metadata.uid }];
    const renewTime = new Date(new SystemClock().now()).toISOString().replace("Z", "000Z");
    await this.admin.expect({
      method: "POST",
      path: LEASES,
      body: {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name, ownerReferences },
        spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime },
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#kubelet?.[Symbol.asyncDispose]();
    await this.token.close();
    await this.admin.close();
    await this.controlPlane.close();
  }
}
