import { isStatus, type KubeObject, type Status } from "../../../staging/apimachinery/api/meta.js";
import { goMapJson } from "../../../staging/apimachinery/go-map-json.js";
import { threeWayMergePatch } from "../../../staging/apimachinery/patch/three-way-merge-patch.js";
import { typeNameOf } from "../../../staging/apimachinery/scheme/scheme.js";
import { objectPath } from "../../../staging/client-go/rest/paths.js";
import { MessageError } from "../../../util/i18n/message-error.js";
import { isRecord } from "../../../util/records.js";
import { eachOf } from "../builder.js";
import { isNotFound } from "../errors.js";
import { readObjects } from "../files.js";
import { isOn, type KubectlLine, text, texts } from "../flags.js";
import { lineError, NO_FILES, unknown } from "../line-error.js";
import { nameOf, refOf, resourceOf } from "../resources.js";
import type { Session } from "../session.js";
import { createObject } from "./create.js";

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** One object of the line's files, and where it is on the server. */
interface Applied {
  readonly object: KubeObject;
  readonly path: string;
  /** `deployment.apps/web` */
  readonly shown: string;
}

/**
 * `kubectl apply -f`, with `--server-side` for the API server's own apply.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/apply/apply.go (applyOneObject).
 */
export async function apply(session: Session, line: KubectlLine): Promise<void> {
  const { client, signal, context } = session;
  const dryRun = text(line, "dry-run") ?? "none";
  if (!["none", "server", "client"].includes(dryRun)) {
    throw lineError(line.verb, `Invalid dry-run value (${dryRun}). Must be "none", "server", or "client".`);
  }
  const files = texts(line, "filename");
  if (files.length === 0) throw lineError(line.verb, NO_FILES);
  // A client-side dry run would have to apply the three-way difference here.
  if (dryRun !== "none" && (dryRun !== "server" || !isOn(line, "server-side"))) throw unknown(`--dry-run=${dryRun}`);
  await eachOf(session, await readObjects(context, files), async (given) => {
    const known = await resourceOf(client, given, signal);
    const namespace = given.metadata?.namespace ?? session.namespace;
    const name = given.metadata?.name ?? "";
    // The annotation has the namespace, even if the manifest has none.
    const object = known.isNamespaced ? { ...given, metadata: { ...given.metadata, namespace } } : given;
    const applied = { object, path: objectPath(refOf(known, namespace), name), shown: nameOf(known, name) };
    if (isOn(line, "server-side")) return serverSide(session, line, applied);
    return clientSide(session, line, applied);
  });
}

/**
 * Creates the object, or sends the difference of three versions. Nothing is sent if there is no difference.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/apply/patcher.go (patchSimple).
 */
async function clientSide(session: Session, line: KubectlLine, { object, path, shown }: Applied): Promise<void> {
  const { client, signal } = session;
  const modified = withLastApplied(object);
  const fieldManager = text(line, "field-manager") ?? "kubectl-client-side-apply";
  const current = await client.expect<KubeObject>({ method: "GET", path, signal }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
  if (current === undefined) return createObject(session, modified, { fieldManager });
  const lastApplied = current.metadata.annotations?.[LAST_APPLIED];
  if (lastApplied === undefined) {
    session.warn(
      `Warning: resource ${shown.replace(/^([^./]+)[^/]*/, "$1s")} is missing the ${LAST_APPLIED} annotation which is required by kubectl apply. kubectl apply should only be used on resources created declaratively by either kubectl create --save-config or kubectl apply. The missing annotation will be patched automatically.`,
    );
  }
  const original: unknown = JSON.parse(lastApplied ?? "{}");
  const type = typeNameOf(object.apiVersion, object.kind);
  const versions = { original: isRecord(original) ? original : {}, modified: { ...modified }, current: { ...current } };
  const body = threeWayMergePatch(versions, type);
  if (Object.keys(body).length === 0) return session.print(`${shown} unchanged\n`);
  const contentType = type === undefined ? "application/merge-patch+json" : "application/strategic-merge-patch+json";
  const query = { fieldManager, fieldValidation: "Strict" };
  await client.expect({ method: "PATCH", path, query, body, contentType, signal });
  session.print(`${shown} configured\n`);
}

/** Mirrors GetModifiedConfiguration in staging/src/k8s.io/kubectl/pkg/util/apply.go. */
function withLastApplied(object: KubeObject): KubeObject {
  const { [LAST_APPLIED]: _, ...annotations } = object.metadata?.annotations ?? {};
  const applied = { ...object, metadata: { ...object.metadata, annotations } };
  const text = `${goMapJson(applied)}\n`;
  return { ...applied, metadata: { ...applied.metadata, annotations: { ...annotations, [LAST_APPLIED]: text } } };
}

async function serverSide(session: Session, line: KubectlLine, { object, path, shown }: Applied): Promise<void> {
  const { client, signal } = session;
  const isDry = text(line, "dry-run") === "server";
  const query = {
    fieldManager: text(line, "field-manager") ?? "kubectl",
    fieldValidation: "Strict",
    force: isOn(line, "force-conflicts"),
    dryRun: isDry ? "All" : undefined,
  };
  const contentType = "application/apply-patch+yaml";
  await client.expect({ method: "PATCH", path, query, body: object, contentType, signal }).catch((error: unknown) => {
    const { cause } = error as Error;
    throw isStatus(cause) && cause.reason === "Conflict" ? conflict(cause) : error;
  });
  session.print(`${shown} serverside-applied${isDry ? " (server dry run)" : ""}\n`);
}

/** Mirrors the conflict's message in apply.go. */
function conflict({ message }: Status): MessageError {
  const advice = `Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the \`--force-conflicts\` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).`;
  const hint = { verbatim: "See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts" };
  return new MessageError("FAILED", { verbatim: `${message}\n${advice}` }, hint);
}
