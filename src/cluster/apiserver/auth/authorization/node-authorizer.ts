import { goQuote } from "../../../../staging/apimachinery/scheme/go-text.js";
import type { UserInfo } from "../../../../staging/server/authentication/user.js";
import type {
  AuthorizationAttributes,
  AuthorizationDecision,
  Authorizer,
} from "../../../../staging/server/authorization/authorizer.js";
import type { NodeGraph, ReachableKind } from "./node-graph.js";
import { nodeNameOf } from "./node-identity.js";
import type { PolicyRule } from "./rbac-types.js";
import { ruleAllows, ruleText } from "./rule-matching.js";

const NODE_LEASE_NAMESPACE = "kube-node-lease";

/** Upstream gives no reason. */
function allowed(why: string): AuthorizationDecision {
  return { allowed: true, reason: "", cause: `Node: ${why}` };
}

function noOpinion(why: string): AuthorizationDecision {
  return { allowed: false, reason: "", cause: `Node: ${why}` };
}

function refused(reason: string): AuthorizationDecision {
  return { allowed: false, reason, cause: `Node: ${reason}` };
}

const NOT_A_NODE = noOpinion("the user is not a node");
const NO_RULE = noOpinion(`ClusterRole "system:node" has no rule for it`);

export interface NodeAuthorizerOptions {
  /** true: a node reads only itself and its own pods; earlier releases allow all nodes and pods */
  readonly withSelectors: boolean;
}

/**
 * Authorizes kubelets: secrets, config maps, claims and service account tokens of their own pods, their own lease and
 * CSINode, and otherwise the rules of the cluster role `system:node`.
 *
 * Mirrors plugin/pkg/auth/authorizer/node/node_authorizer.go. When a node requests a list with a single name
 * (`fieldSelector=metadata.name=x`), the caller puts that name into the attributes.
 */
export class NodeAuthorizer implements Authorizer {
  readonly #rules: readonly { readonly rule: PolicyRule; readonly decision: AuthorizationDecision }[];

  constructor(
    readonly graph: NodeGraph,
    nodeRules: readonly PolicyRule[],
    readonly options: NodeAuthorizerOptions,
  ) {
    this.#rules = nodeRules.map((rule) => {
      return { rule, decision: allowed(`ClusterRole "system:node" has the rule ${ruleText(rule)}`) };
    });
  }

  async authorize(attributes: AuthorizationAttributes): Promise<AuthorizationDecision> {
    const nodeName = nodeNameOf(attributes.user);
    if (nodeName === undefined) return NOT_A_NODE;
    if (nodeName === "") return refused(`unknown node for user ${goQuote(attributes.user.username)}`);
    if (!attributes.isResourceRequest) return this.#byRules(attributes);
    switch (`${attributes.resource}.${attributes.apiGroup}`) {
      case "secrets.":
        return this.#authorizeRead(nodeName, "secret", attributes);
      case "configmaps.":
        return this.#authorizeRead(nodeName, "configmap", attributes);
      case "persistentvolumeclaims.":
        if (attributes.subresource === "status") return this.#authorizeStatusUpdate(nodeName, "pvc", attributes);
        return this.#authorizeGet(nodeName, "pvc", attributes);
      case "persistentvolumes.":
        return this.#authorizeGet(nodeName, "pv", attributes);
      case "volumeattachments.storage.k8s.io":
        return this.#authorizeGet(nodeName, "va", attributes);
      case "serviceaccounts.":
        return this.#authorizeCreateToken(nodeName, attributes);
      case "leases.coordination.k8s.io":
        return authorizeLease(nodeName, attributes);
      case "csinodes.storage.k8s.io":
        return authorizeCsiNode(nodeName, attributes);
      case "nodes.":
        if (!this.options.withSelectors) return this.#byRules(attributes);
        return authorizeNodeRead(nodeName, attributes) ?? this.#byRules(attributes);
      case "pods.":
        if (!this.options.withSelectors) return this.#byRules(attributes);
        return this.#authorizePodRead(nodeName, attributes);
      default:
        return this.#byRules(attributes);
    }
  }

  /** A node's permissions depend on its pods, so they cannot be listed. */
  async rulesFor(user: UserInfo): ReturnType<Authorizer["rulesFor"]> {
    const nothing = { resourceRules: [], nonResourceRules: [] };
    if (nodeNameOf(user) === undefined) return { ...nothing, incomplete: false };
    return { ...nothing, incomplete: true, evaluationError: "node authorizer does not support user rule resolution" };
  }

  #byRules(attributes: AuthorizationAttributes): AuthorizationDecision {
    return this.#rules.find(({ rule }) => ruleAllows(attributes, rule))?.decision ?? NO_RULE;
  }

  async #authorizeRead(nodeName: string, kind: ReachableKind, attributes: AuthorizationAttributes) {
    if (!READ_VERBS.includes(attributes.verb)) return refused("can only read resources of this type");
    if (attributes.subresource !== "") return refused("cannot read subresource");
    if (attributes.namespace === "") return refused("can only read namespaced object of this type");
    return this.#authorizeRelated(nodeName, kind, attributes);
  }

  /** Mirrors authorizePod, in force since v1.32. */
  async #authorizePodRead(nodeName: string, attributes: AuthorizationAttributes): Promise<AuthorizationDecision> {
    const { verb, subresource, name, fieldSelector } = attributes;
    if (subresource !== "" || !READ_VERBS.includes(verb)) return this.#byRules(attributes);
    if (verb === "get") return this.#authorizeGet(nodeName, "pod", attributes);
    if (fieldSelector === undefined || selectsNode(fieldSelector, nodeName)) return this.#byRules(attributes);
    if (name !== "") return this.#authorizeRelated(nodeName, "pod", attributes);
    return refused("can only list/watch pods with spec.nodeName field selector");
  }

  async #authorizeGet(nodeName: string, kind: ReachableKind, attributes: AuthorizationAttributes) {
    if (attributes.verb !== "get") return refused("can only get individual resources of this type");
    if (attributes.subresource !== "") return refused("cannot get subresource");
    return this.#authorizeRelated(nodeName, kind, attributes);
  }

  async #authorizeStatusUpdate(nodeName: string, kind: ReachableKind, attributes: AuthorizationAttributes) {
    if (!["update", "patch"].includes(attributes.verb)) return refused("can only get/update/patch this type");
    return this.#authorizeRelated(nodeName, kind, attributes);
  }

  async #authorizeCreateToken(nodeName: string, attributes: AuthorizationAttributes) {
    if (attributes.verb !== "create" || attributes.name === "") {
      return refused("can only create tokens for individual service accounts");
    }
    if (attributes.subresource !== "token") return refused("can only create token subresource of serviceaccount");
    return this.#authorizeRelated(nodeName, "serviceaccount", attributes);
  }

  async #authorizeRelated(
    nodeName: string,
    kind: ReachableKind,
    { namespace, name }: AuthorizationAttributes,
  ): Promise<AuthorizationDecision> {
    if (name === "") return refused("No Object name found");
    const path = await this.graph.pathTo(nodeName, kind, namespace, name);
    if (path !== undefined) return allowed(path.join(" -> "));
    return refused(`no relationship found between node '${nodeName}' and this object`);
  }
}

const READ_VERBS = ["get", "list", "watch"];

function selectsNode(fieldSelector: string, nodeName: string): boolean {
  const terms = fieldSelector.split(",");
  return terms.includes(`spec.nodeName=${nodeName}`) || terms.includes(`spec.nodeName==${nodeName}`);
}

/** Mirrors authorizeNode, in force since v1.32: by name, so that a kubelet can read its node before the node exists. */
function authorizeNodeRead(
  nodeName: string,
  { verb, subresource, name }: AuthorizationAttributes,
): AuthorizationDecision | undefined {
  if (subresource !== "" || !READ_VERBS.includes(verb)) return undefined;
  if (name === nodeName) return allowed("a node reads its own Node object");
  const what = name === "" ? "all nodes" : `'${name}'`;
  return refused(`node '${nodeName}' cannot read ${what}, only its own Node object`);
}

const OWN_OBJECT_VERBS = ["get", "create", "update", "patch", "delete"];

function authorizeLease(nodeName: string, { verb, namespace, name }: AuthorizationAttributes): AuthorizationDecision {
  if (!OWN_OBJECT_VERBS.includes(verb)) return refused("can only get, create, update, patch, or delete a node lease");
  if (namespace !== NODE_LEASE_NAMESPACE) {
    return refused(`can only access leases in the "${NODE_LEASE_NAMESPACE}" system namespace`);
  }
  // The name of an object to create is not known here; NodeRestriction checks it.
  if (verb !== "create" && name !== nodeName) {
    return refused("can only access node lease with the same name as the requesting node");
  }
  return allowed(verb === "create" ? "a node creates its Lease" : "the Lease has the name of the node");
}

function authorizeCsiNode(nodeName: string, attributes: AuthorizationAttributes): AuthorizationDecision {
  const { verb, subresource, name } = attributes;
  if (!OWN_OBJECT_VERBS.includes(verb)) return refused("can only get, create, update, patch, or delete a CSINode");
  if (subresource !== "") return refused("cannot authorize CSINode subresources");
  if (verb !== "create" && name !== nodeName) {
    return refused("can only access CSINode with the same name as the requesting node");
  }
  return allowed(verb === "create" ? "a node creates its CSINode" : "the CSINode has the name of the node");
}
