import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { objectPath } from "../../../staging/client-go/rest/paths.js";
import { eachOf } from "../builder.js";
import { isNotFound } from "../errors.js";
import { readObjects } from "../files.js";
import { integerOf, isOn, type KubectlLine, text, texts } from "../flags.js";
import { lineError, NO_FILES } from "../line-error.js";
import { type KnownResource, nameOf, refOf, resourceOf } from "../resources.js";
import type { Session } from "../session.js";
import { createObject } from "./create.js";
import { propagationOf, untilGone } from "./delete.js";

const FIELD_MANAGER = "kubectl-replace";

/** One object of the line's files, and where it is on the server. */
interface Target {
  readonly known: KnownResource;
  readonly name: string;
  readonly path: string;
}

/**
 * `kubectl replace -f`, with `--force` delete and create.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/replace/replace.go (Run, forceReplace).
 */
export async function replace(session: Session, line: KubectlLine): Promise<void> {
  const { client, signal, context } = session;
  const files = texts(line, "filename");
  const isForced = isOn(line, "force");
  if (!isForced && text(line, "grace-period") !== undefined) {
    throw lineError(line.verb, "--grace-period must have --force specified");
  }
  if (files.length === 0) throw lineError(line.verb, NO_FILES);
  const propagationPolicy = propagationOf(line);
  const objects = await readObjects(context, files);
  if (isForced) return forceReplace(session, line, objects, propagationPolicy);
  await eachOf(session, objects, async (object) => {
    const { known, name, path } = await targetOf(session, object);
    const query = { fieldManager: FIELD_MANAGER, fieldValidation: "Strict" };
    await client.expect({ method: "PUT", path, query, body: object, signal });
    session.print(`${nameOf(known, name)} replaced\n`);
  });
}

/** Deletes the objects that exist, waits until they are gone, and then creates all. */
async function forceReplace(
  session: Session,
  line: KubectlLine,
  objects: readonly KubeObject[],
  propagationPolicy: string,
): Promise<void> {
  const { client, signal } = session;
  const grace = text(line, "grace-period");
  const gracePeriodSeconds = grace === undefined ? undefined : integerOf(line, "grace-period", grace);
  const query = { propagationPolicy, gracePeriodSeconds };
  const deleted: { readonly path: string; readonly object: KubeObject }[] = [];
  await eachOf(session, objects, async (object) => {
    const { known, name, path } = await targetOf(session, object);
    const found = await client.expect<KubeObject>({ method: "GET", path, signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    if (found === undefined) return;
    await client.expect({ method: "DELETE", path, query, signal });
    session.print(`${nameOf(known, "").slice(0, -1)} "${name}" deleted\n`);
    deleted.push({ path, object: found });
  });
  for (const one of deleted) await untilGone(session, one);
  await eachOf(session, objects, (object) =>
    createObject(session, withoutVersion(object), { done: "replaced", fieldManager: FIELD_MANAGER }),
  );
}

/** A new object has no version yet. Mirrors ClearVersion of the Helper in k8s.io/cli-runtime/pkg/resource/helper.go. */
function withoutVersion(object: KubeObject): KubeObject {
  const { resourceVersion: _, ...metadata } = object.metadata ?? {};
  return { ...object, metadata };
}

async function targetOf({ client, signal, namespace }: Session, object: KubeObject): Promise<Target> {
  const known = await resourceOf(client, object, signal);
  const name = object.metadata?.name ?? "";
  return { known, name, path: objectPath(refOf(known, object.metadata?.namespace ?? namespace), name) };
}
