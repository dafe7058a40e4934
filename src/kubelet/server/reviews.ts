import { isSuccess, statusMessage } from "../../staging/client-go/rest/answers.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { collectionPath } from "../../staging/client-go/rest/paths.js";
import type { UserInfo } from "../../staging/server/authentication/user.js";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import type { NodeAttributes } from "./attributes.js";

export interface ReviewDeps {
  /** sends requests as the node */
  readonly client: KubeClient;
  readonly clock: Clock;
}

/** The API server could not be reached, or refused to answer. */
export class ReviewError extends Error {
  override readonly name = "ReviewError";
}

const TOKEN_REVIEWS = { apiVersion: "authentication.k8s.io/v1", resource: "tokenreviews" };
const ACCESS_REVIEWS = { apiVersion: "authorization.k8s.io/v1", resource: "subjectaccessreviews" };
/** DefaultRetryBackoff: 500 ms, growing by half; before it, one immediate retry for a stale connection */
const RETRY_MS = [0, 500, 750, 1125] as const;
/** Mirrors TokenRequestTimeout and the webhooks' own: both wait at most this long. */
const TIMEOUT_MS = 10_000;

/**
 * Asks the API server for the owner of a bearer token.
 *
 * Mirrors k8s.io/apiserver/plugin/pkg/authenticator/token/webhook/webhook.go (AuthenticateToken).
 * @returns undefined: the API server does not know the token
 * @throws ReviewError
 */
export async function reviewToken(deps: ReviewDeps, token: string, signal: AbortSignal): Promise<UserInfo | undefined> {
  const status = await review(deps, TOKEN_REVIEWS, "TokenReview", { token }, signal);
  if (status["authenticated"] !== true) {
    const { error } = status;
    if (typeof error === "string" && error !== "") throw new ReviewError(error);
    return undefined;
  }
  return userOf(status["user"]);
}

function userOf(value: unknown): UserInfo {
  const { username, uid, groups, extra } = (value ?? {}) as Record<string, unknown>;
  return {
    username: typeof username === "string" ? username : "",
    groups: Array.isArray(groups) ? groups.filter((group) => typeof group === "string") : [],
    ...(typeof uid === "string" && uid !== "" ? { uid } : {}),
    ...(typeof extra === "object" && extra !== null ? { extra: extra as NonNullable<UserInfo["extra"]> } : {}),
  };
}

/** The answer to a SubjectAccessReview. */
export interface AccessDecision {
  readonly allowed: boolean;
  /** the authorizer's reason, often empty */
  readonly reason: string;
}

/**
 * Mirrors k8s.io/apiserver/plugin/pkg/authorizer/webhook/webhook.go (Authorize).
 * @throws ReviewError
 */
export async function reviewAccess(
  deps: ReviewDeps,
  nodeName: string,
  user: UserInfo,
  { verb, subresource }: NodeAttributes,
  signal: AbortSignal,
): Promise<AccessDecision> {
  const { username, uid, groups, extra } = user;
  const spec = {
    resourceAttributes: { verb, version: "v1", resource: "nodes", subresource, name: nodeName },
    user: username,
    groups,
    ...defined({ uid, extra }),
  };
  const { allowed, reason } = await review(deps, ACCESS_REVIEWS, "SubjectAccessReview", spec, signal);
  return { allowed: allowed === true, reason: typeof reason === "string" ? reason : "" };
}

async function review(
  { client, clock }: ReviewDeps,
  ref: typeof TOKEN_REVIEWS,
  kind: string,
  spec: object,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  const body = { apiVersion: ref.apiVersion, kind, metadata: { creationTimestamp: null }, spec };
  for (let attempt = 0; ; attempt++) {
    try {
      const path = collectionPath(ref);
      const answer = await client.request({ method: "POST", path, body, timeoutMs: TIMEOUT_MS, signal });
      if (!isSuccess(answer)) throw new ReviewError(statusMessage(answer));
      const status = (answer.body as { readonly status?: unknown } | undefined)?.status;
      return typeof status === "object" && status !== null ? (status as Record<string, unknown>) : {};
    } catch (error) {
      const waitMs = RETRY_MS[attempt];
      const isWorthIt = error instanceof LabError && error.code === "CLUSTER_UNREACHABLE";
      if (signal.aborted || !(error instanceof Error)) throw error;
      if (!isWorthIt || waitMs === undefined) throw new ReviewError(error.message, { cause: error });
      await clock.sleep(waitMs, signal);
    }
  }
}
