import type { Trace } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";
import type { KubeList, KubeObject } from "../apimachinery/api/meta.js";
import { isSuccess, refusal, statusMessage } from "../client-go/rest/answers.js";
import type { KubeClient, KubeResponse } from "../client-go/rest/client.js";
import { identityInWords } from "../client-go/rest/identity.js";
import {
  SECRETS_PATH,
  summarizeToken,
  TOKEN_SECRET_TYPE,
  type TokenSettings,
  type TokenSummary,
  tokenSecret,
  tokenSecretName,
} from "./secret.js";
import type { BootstrapToken } from "./token.js";

/** The administrator's side of bootstrap tokens: requires a client with write access to Secrets in kube-system. */
export interface TokenDeps {
  readonly client: KubeClient;
  readonly trace: Trace;
  /** Unix ms */
  readonly nowMs: number;
}

/**
 * Stores the Secret that makes the token valid.
 *
 * Mirrors cmd/kubeadm/app/phases/bootstraptoken/node/token.go (CreateNewTokens).
 *
 * @throws LabError REFUSED when a token with this id exists; errors of KubeClient.expect
 */
export async function createToken(deps: TokenDeps, settings: TokenSettings): Promise<void> {
  const name = tokenSecretName(settings.token.id);
  const upstream = { file: "cmd/kubeadm/app/phases/bootstraptoken/node/token.go", func: "CreateNewTokens" };
  await deps.trace.step("user", `Store the token as Secret kube-system/${name}`, { upstream }, async () => {
    const answer = await deps.client.request({ method: "POST", path: SECRETS_PATH, body: tokenSecret(settings) });
    if (answer.status === 409) {
      throw new LabError(
        "REFUSED",
        `a token with the id ${settings.token.id} already exists`,
        `Choose another id, or delete the token first: kubelab token delete ${settings.token.id}`,
      );
    }
    if (!isSuccess(answer)) throw refusal(answer, `POST ${SECRETS_PATH}`, identityInWords(deps.client.config));
  });
}

/** All token Secrets, invalid ones included, by id. */
export async function listTokens(deps: TokenDeps): Promise<TokenSummary[]> {
  const list = await deps.client.expect<KubeList>({
    method: "GET",
    path: SECRETS_PATH,
    query: { fieldSelector: `type=${TOKEN_SECRET_TYPE}` },
  });
  return list.items.map((secret) => summarizeToken(secret, deps.nowMs)).sort((a, b) => a.id.localeCompare(b.id));
}

/** @throws LabError REFUSED when no token has this id */
export async function deleteToken(deps: TokenDeps, tokenId: string): Promise<void> {
  const name = tokenSecretName(tokenId);
  const upstream = { file: "cmd/kubeadm/app/cmd/token.go", func: "RunDeleteTokens" };
  await deps.trace.step("user", `Delete Secret kube-system/${name}`, { upstream }, async () => {
    const answer = await deps.client.request({ method: "DELETE", path: `${SECRETS_PATH}/${name}` });
    if (answer.status === 404) {
      throw new LabError("REFUSED", `no token has the ID ${tokenId}`, "List the tokens: kubelab token list");
    }
    if (!isSuccess(answer))
      throw refusal(answer, `DELETE ${SECRETS_PATH}/${name}`, identityInWords(deps.client.config));
  });
}

/** Reports what the two halves of a token mean, and when it expires. */
export function explainToken(deps: TokenDeps, token: BootstrapToken, expiration: string | undefined): void {
  const note = (text: string) => deps.trace.emit({ kind: "note", text }, { actor: "user" });
  deps.trace.step("user", `Show what the token ${token.id}.**** means`, {}, () => {
    note(
      `${token.id} is its public half, the token id: it names the Secret and the user, system:bootstrap:${token.id}, in group system:bootstrappers.`,
    );
    note(
      "**** is its secret half, printed once on stdout. Both halves together authenticate a client; treat it like a password.",
    );
    note(
      expiration === undefined
        ? "It never expires: delete it once every node has joined."
        : `It expires at ${expiration}: the token cleaner deletes the Secret then; delete it earlier once every node has joined.`,
    );
  });
}

interface Subject {
  readonly kind?: string;
  readonly name?: string;
}

interface PolicyRule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
}

const RBAC = "/apis/rbac.authorization.k8s.io/v1";

/**
 * Reports where a token's rights come from: not from the token but from the ClusterRoleBindings of its groups. Reads the
 * bindings and roles of this cluster; reports one decision per binding.
 */
export async function explainRights(deps: TokenDeps, groups: readonly string[]): Promise<void> {
  const { client, trace } = deps;
  await trace.step("user", "Show where the token's rights come from: the bindings of its groups", {}, async () => {
    const bindings = await client.expect<KubeList>({ method: "GET", path: `${RBAC}/clusterrolebindings` });
    // The rights of every authenticated user (discovery, self reviews) would hide those of the token.
    const mine = bindings.items.filter((binding) => subjectsOf(binding).some((one) => isGroup(one, groups)));
    for (const binding of mine) {
      const role = (binding["roleRef"] as { readonly name?: string } | undefined)?.name ?? "";
      const answer = await client.request<KubeObject>({
        method: "GET",
        path: `${RBAC}/clusterroles/${encodeURIComponent(role)}`,
      });
      const named = groups.filter((group) => subjectsOf(binding).some((one) => isGroup(one, [group])));
      const why = `ClusterRoleBinding ${binding.metadata.name} gives ClusterRole ${role} to ${named.join(", ")}`;
      trace.emit({ kind: "decision", what: rightsOf(role, answer), why }, { actor: "apiserver" });
    }
    if (mine.length === 0) {
      trace.emit(
        {
          kind: "note",
          text: `No ClusterRoleBinding names ${groups.join(", ") || "a group of the token"}: the token identifies a user without permissions.`,
        },
        { actor: "apiserver" },
      );
    }
  });
}

function rightsOf(role: string, answer: KubeResponse<KubeObject>): string {
  if (!isSuccess(answer)) return `unknown: ClusterRole ${role} cannot be read: ${statusMessage(answer)}`;
  const rules = (answer.body["rules"] as readonly PolicyRule[] | null | undefined) ?? [];
  return rules.map(ruleInWords).join("; ") || `nothing: ClusterRole ${role} has no rules`;
}

function subjectsOf(binding: KubeObject): readonly Subject[] {
  return (binding["subjects"] as readonly Subject[] | undefined) ?? [];
}

function isGroup(subject: Subject, groups: readonly string[]): boolean {
  return subject.kind === "Group" && subject.name !== undefined && groups.includes(subject.name);
}

function ruleInWords(rule: PolicyRule): string {
  return `may ${(rule.verbs ?? []).join(", ")} ${(rule.resources ?? []).join(", ")}`;
}
