import { defined } from "../../../util/defined.js";
import { LabError } from "../../../util/errors.js";
import { MessageError } from "../../../util/i18n/message-error.js";
import { type KubectlLine, text } from "../flags.js";
import { lineError } from "../line-error.js";
import { checkFormat, objectText } from "../output.js";
import { findResource } from "../resources.js";
import type { Session } from "../session.js";

/**
 * `auth can-i VERB RESOURCE [NAME]`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/auth/cani.go (RunAccessCheck).
 * @throws LabError FAILED for "no", because kubectl exits with 1
 */
export async function canI(session: Session, line: KubectlLine): Promise<void> {
  const [verb, resource, name] = line.words;
  if (verb === undefined || resource === undefined) {
    throw lineError(line.verb, "you must specify two arguments: verb resource or verb resource/resourceName.");
  }
  const [word = "", subresource] = resource.split("/");
  const known = await findResource(session.client, word, session.signal).catch((error: unknown) => {
    // Without any rights, discovery may be forbidden too.
    if (!(error instanceof LabError)) throw error;
    const [plural = "", ...group] = word.split(".");
    return {
      apiVersion: group.length === 0 ? "v1" : `${group.join(".")}/v1`,
      resource: plural,
      kind: "",
      isNamespaced: true,
    };
  });
  const body = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: {
      resourceAttributes: {
        verb,
        resource: known.resource,
        group: known.apiVersion.includes("/") ? known.apiVersion.split("/")[0] : "",
        ...(known.isNamespaced ? { namespace: session.namespace } : {}),
        ...defined({ name, subresource }),
      },
    },
  };
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const { status } = await session.client.expect<{ status?: { allowed?: boolean } }>({
    method: "POST",
    path,
    body,
    signal: session.signal,
  });
  if (status?.allowed === true) return session.print("yes\n");
  session.print("no\n");
  throw new MessageError("FAILED", { verbatim: "no" }, ["rightsHint"]);
}

/**
 * `auth whoami [-o F]`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/auth/whoami.go (Run). Differs: prints YAML without `-o`.
 */
export async function whoAmI({ client, signal, print }: Session, line: KubectlLine): Promise<void> {
  checkFormat(line);
  const { apiVersion, kind } = await findResource(client, "selfsubjectreviews", signal);
  const path = `/apis/${apiVersion}/selfsubjectreviews`;
  const review = await client.expect({ method: "POST", path, body: { apiVersion, kind }, signal });
  print(objectText(review, text(line, "output") ?? "yaml", []));
}
