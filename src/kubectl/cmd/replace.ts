import { objectPath } from "../../client-go/rest/paths.js";
import { eachOf } from "../builder.js";
import { readObjects } from "../files.js";
import { type KubectlLine, texts } from "../flags.js";
import { lineError, NO_FILES } from "../line-error.js";
import { nameOf, refOf, resourceOf } from "../resources.js";
import type { Session } from "../session.js";

/**
 * `kubectl replace -f`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/replace/replace.go (Run).
 */
export async function replace(session: Session, line: KubectlLine): Promise<void> {
  const { client, signal, context } = session;
  const files = texts(line, "filename");
  if (files.length === 0) throw lineError(line.verb, NO_FILES);
  await eachOf(session, await readObjects(context, files), async (object) => {
    const known = await resourceOf(client, object, signal);
    const name = object.metadata?.name ?? "";
    const path = objectPath(refOf(known, object.metadata?.namespace ?? session.namespace), name);
    const query = { fieldManager: "kubectl-replace", fieldValidation: "Strict" };
    await client.expect({ method: "PUT", path, query, body: object, signal });
    session.print(`${nameOf(known, name)} replaced\n`);
  });
}
