import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { isSuccess, refusal, statusMessage } from "../../staging/client-go/rest/answers.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { identityInWords } from "../../staging/client-go/rest/identity.js";
import { collectionPath, NODE_LEASES, NODES, objectPath, PODS } from "../../staging/client-go/rest/paths.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import { factFor, OLDEST_RELEASE } from "../../util/release/facts.js";
import type { Target } from "../target/target.js";

/** The annotation of an inspector's Nodes: the inspector's name. */
const INSPECTOR_ANNOTATION = "kubelab/inspector";
/** A node that has not renewed its Lease for this time is gone: leaseDurationSeconds of kubelets, the same in each release. */
const LEASE_MS = factFor("leaseDurationSeconds", OLDEST_RELEASE) * 1_000;

export interface OwnNodeDeps {
  readonly target: Target;
  /** as the administrator */
  readonly admin: KubeClient;
  readonly clock: Clock;
  readonly trace: Trace;
}

/** The Node that an inspector creates and removes. On a cluster that ends with the command it does nothing. */
export class OwnNode {
  readonly #path: string;

  constructor(
    readonly deps: OwnNodeDeps,
    readonly nodeName: string,
  ) {
    this.#path = objectPath(NODES, nodeName);
  }

  /**
   * Checks before the join that a Node of that name can only be a killed inspector's.
   * @throws LabError REFUSED; as `refusal` if the Node cannot be read
   */
  async claim(signal: AbortSignal): Promise<void> {
    const { target, admin } = this.deps;
    if (target.kind === "embedded") return;
    const answer = await admin.request<WithAnnotations>({ method: "GET", path: this.#path, signal });
    if (answer.status === 404) return;
    if (!isSuccess(answer)) throw refusal(answer, `GET ${this.#path}`, identityInWords(admin.config));
    const isOfInspector = answer.body.metadata.annotations?.[INSPECTOR_ANNOTATION] !== undefined;
    if (isOfInspector && !(await this.#isAlive(signal))) return;
    throw new LabError(
      "REFUSED",
      `there is a node ${this.nodeName} in the cluster ${isOfInspector ? "that another command has made and still runs, or ran until just now" : "already"}`,
      "This command takes its node away at its end: give it a name of its own with --name.",
    );
  }

  /** Marks the Node, so that the next inspector can take it if this one is killed. */
  async mark(command: string, signal: AbortSignal): Promise<void> {
    if (this.deps.target.kind === "embedded") return;
    const body = { metadata: { annotations: { [INSPECTOR_ANNOTATION]: command } } };
    const contentType = "application/merge-patch+json";
    await this.deps.admin.expect({ method: "PATCH", path: this.#path, body, contentType, signal });
  }

  /** Removes the node and its pods, because no kubelet is left to end them. */
  async takeAway(): Promise<void> {
    const { target, admin, trace } = this.deps;
    const { nodeName } = this;
    if (target.kind === "embedded") return;
    const answer = await admin.request({ method: "DELETE", path: this.#path });
    if (answer.status === 404) return;
    const query = { fieldSelector: `spec.nodeName=${nodeName}` };
    const pods = await admin.request<{ readonly items?: readonly V1Pod[] }>({
      method: "GET",
      path: collectionPath(PODS),
      query,
    });
    for (const { metadata } of isSuccess(pods) ? (pods.body.items ?? []) : []) {
      const path = objectPath({ ...PODS, namespace: metadata.namespace }, metadata.name);
      await admin.request({
        method: "DELETE",
        path,
        body: { gracePeriodSeconds: 0, preconditions: { uid: metadata.uid } },
      });
    }
    const text = isSuccess(answer)
      ? `node ${nodeName} has been taken out of the cluster again`
      : `node ${nodeName} is still in the cluster: ${statusMessage(answer)}`;
    trace.emit({ kind: "note", text }, { actor: "user" });
  }

  async #isAlive(signal: AbortSignal): Promise<boolean> {
    const path = objectPath(NODE_LEASES, this.nodeName);
    const lease = await this.deps.admin.request<WithRenewTime>({ method: "GET", path, signal });
    if (!isSuccess(lease)) return false;
    return Date.parse(lease.body.spec?.renewTime ?? "") > this.deps.clock.now() - LEASE_MS;
  }
}

interface WithAnnotations {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
}

interface WithRenewTime {
  readonly spec?: { readonly renewTime?: string };
}
