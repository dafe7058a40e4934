import type { KubeClient } from "../../../../staging/client-go/rest/client.js";
import { defined } from "../../../../util/defined.js";
import type { Say } from "../../../../util/i18n/catalogue.js";
import { LocalizedError } from "../../../../util/i18n/message-error.js";

/**
 * Checks that the cluster has the required APIs and can reach a kubelet on this machine. @throws LocalizedError FAILED
 */
export async function checkAnswers(
  client: KubeClient,
  wants: readonly string[],
  say: Say,
  signal: AbortSignal,
): Promise<void> {
  for (const path of wants) {
    const { status } = await client.request({ method: "GET", path, signal });
    if (status < 300) continue;
    const isKubelet = /^\/api\/v1\/nodes\/[^/]+\/proxy\//.test(path);
    const message = say(isKubelet ? "wantsKubelet" : "wantsAnswer", { path, status });
    throw new LocalizedError("FAILED", message, say("wantsHint"));
  }
}

/**
 * Checks rights such as `create secrets`, `get pods/log`, `create leases.coordination.k8s.io`. @throws LabError
 * FORBIDDEN with the missing rights
 */
export async function checkRights(
  client: KubeClient,
  rights: readonly string[],
  say: Say,
  signal: AbortSignal,
): Promise<void> {
  const missing: string[] = [];
  for (const right of rights) {
    const [verb = "", what = ""] = right.split(" ");
    const [name = "", subresource] = what.split("/");
    const [resource = "", ...group] = name.split(".");
    const attributes = {
      verb,
      resource,
      group: group.join("."),
      ...defined({ subresource }),
    };
    const { status } = await client.expect<{ status?: { allowed?: boolean } }>({
      method: "POST",
      path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      body: {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes: attributes },
      },
      signal,
    });
    if (status?.allowed !== true) missing.push(right);
  }
  if (missing.length > 0) {
    throw new LocalizedError(
      "FORBIDDEN",
      say("rightsMissing", { rights: missing.join(", ") }),
      say("rightsMissingHint"),
    );
  }
}
