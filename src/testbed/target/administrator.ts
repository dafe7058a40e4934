import { csrState } from "../../staging/apimachinery/api/certificates.js";
import { rfc3339 } from "../../staging/apimachinery/time.js";
import { isSuccess, refusal } from "../../staging/client-go/rest/answers.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import { identityInWords } from "../../staging/client-go/rest/identity.js";
import { createToken, deleteToken } from "../../staging/cluster-bootstrap/admin.js";
import { DEFAULT_NODE_TOKEN_GROUP } from "../../staging/cluster-bootstrap/secret.js";
import { type BootstrapToken, generateToken } from "../../staging/cluster-bootstrap/token.js";
import { decide, getCsr } from "../../staging/csr/decide.js";
import type { Ctx } from "../../trace/ctx.js";
import { LabError } from "../../util/errors.js";
import type { Target } from "./target.js";

/** Tokens of this group can create requests, but no controller approves them. */
const MANUAL_GROUP = "system:bootstrappers:kubelab:manual-approval";
const MANUAL_BINDING = "kubelab:manual-approval";
const BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
const TOKEN_LIFE_MS = 3_600_000;

/** The description of a token for one join. */
export function joinDescription(nodeName: string): string {
  return `made by kubelab to join ${nodeName}`;
}

/**
 * The administrator's part of a join: creates the token, approves or denies. It uses the administrator's identity,
 * which the node's part never sees.
 */
export class Administrator {
  readonly client: KubeClient;
  readonly #undo: (() => Promise<void>)[] = [];

  constructor(
    readonly target: Target,
    readonly deps: Ctx,
  ) {
    this.client = createClient(target.admin, { ...deps, actor: "user" });
  }

  /**
   * Makes a token for one node. Its group decides about the node's request: the controller approves requests of
   * kubeadm's default group; our group (for --approve ask and manual) can only create them.
   * @param lifeMs the time limit of the join
   */
  async makeToken(nodeName: string, approval: "auto" | "ask" | "manual", lifeMs: number): Promise<BootstrapToken> {
    const token = generateToken();
    const { clock, trace } = this.deps;
    if (approval !== "auto") await this.#bindManualGroup();
    const deps = { client: this.client, trace, nowMs: clock.now() };
    await createToken(deps, {
      token,
      description: joinDescription(nodeName),
      expiration: rfc3339(clock.now() + Math.max(TOKEN_LIFE_MS, lifeMs)),
      usages: ["authentication", "signing"],
      groups: [approval === "auto" ? DEFAULT_NODE_TOKEN_GROUP : MANUAL_GROUP],
    });
    this.#undo.push(() => deleteToken({ ...deps, nowMs: clock.now() }, token.id));
    return token;
  }

  async #bindManualGroup(): Promise<void> {
    const body = {
      kind: "ClusterRoleBinding",
      apiVersion: "rbac.authorization.k8s.io/v1",
      metadata: { name: MANUAL_BINDING, labels: { "app.kubernetes.io/managed-by": "kubelab" } },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:node-bootstrapper" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: MANUAL_GROUP }],
    };
    await this.deps.trace.step(
      "user",
      "Give the token's group the right to ask for a certificate, and leave the approval to a person",
      {},
      async () => {
        const answer = await this.client.request({ method: "POST", path: BINDINGS, body });
        if (answer.status === 409) return;
        if (!isSuccess(answer)) throw refusal(answer, `POST ${BINDINGS}`, identityInWords(this.client.config));
        this.#undo.push(async () => {
          await this.client.request({ method: "DELETE", path: `${BINDINGS}/${encodeURIComponent(MANUAL_BINDING)}` });
        });
      },
    );
  }

  /** True until it is approved or denied. */
  async isPending(csrName: string, signal: AbortSignal): Promise<boolean> {
    return csrState(await getCsr(this.client, csrName, signal)) === "Pending";
  }

  /** Approves or denies. @throws LabError FORBIDDEN, REFUSED */
  async judge(csrName: string, type: "Approved" | "Denied", signal: AbortSignal): Promise<void> {
    const reason = type === "Approved" ? "KubelabApprove" : "KubelabDeny";
    const message = `This CSR was ${type.toLowerCase()} by kubelab bootstrap on the administrator's word.`;
    await decide({ client: this.client, trace: this.deps.trace }, csrName, { type, reason, message }, signal);
  }

  /** Deletes the token of this join, which has no further use. */
  async tidyUp(): Promise<void> {
    for (const undo of this.#undo.splice(0).reverse()) {
      try {
        await undo();
      } catch (error) {
        if (!(error instanceof LabError)) throw error;
        const hint = "It ends by itself: the token expires.";
        this.deps.trace.emit(
          { kind: "error", message: `could not tidy up: ${error.message}`, hint },
          { actor: "user" },
        );
      }
    }
  }

  close(): Promise<void> {
    return this.client.close();
  }
}
