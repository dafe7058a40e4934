import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import type { KubeClient, KubeRequest } from "../../staging/client-go/rest/client.js";
import { objectPath } from "../../staging/client-go/rest/paths.js";
import { LabError } from "../../util/errors.js";
import { isNotFound, reportRefusal } from "./errors.js";
import { readObjects } from "./files.js";
import { isOn, type KubectlLine, text, texts } from "./flags.js";
import { lineError, NO_RESOURCES } from "./line-error.js";
import { findResource, findResources, type KnownResource, pathOf, refOf, resourceOf } from "./resources.js";
import type { Session } from "./session.js";

/** A kind on a command line, and the names of some of its objects. */
export interface Named {
  readonly known: KnownResource;
  /** none: all objects, or those that the selectors of the line match */
  readonly names: readonly string[];
  /** undefined: all namespaces */
  readonly namespace: string | undefined;
}

/** One object of a command line. */
export interface Info {
  readonly known: KnownResource;
  readonly name: string;
  readonly path: string;
  readonly object: KubeObject;
}

const NAME_AND_SELECTOR = "name cannot be provided when a selector is specified";
const ALL_AND_SELECTOR = "setting 'all' parameter but found a non empty selector. ";
const KIND_APART =
  "there is no need to specify a resource type as a separate argument when passing arguments in resource/name form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource resource/<resource_name>'";

const NO_TARGET = "one or more resources must be specified as <resource> <name> or <resource>/<name>";
const NO_ROLLOUT = "required resource not specified";
/** The errors of verbs with their own text for a line without resources. */
const NO_KIND: Readonly<Record<string, string>> = {
  get: "You must specify the type of resource to get.",
  describe: "You must specify the type of resource to describe.",
  label: NO_TARGET,
  annotate: NO_TARGET,
  "set env": NO_TARGET,
  taint: "one or more resources must be specified as <resource> <name>",
  "rollout status": NO_ROLLOUT,
  "rollout history": NO_ROLLOUT,
  "rollout undo": NO_ROLLOUT,
  "rollout restart": NO_ROLLOUT,
};

/**
 * The kinds and names of `pods`, `pod web`, `pods,nodes`, `pod/web csr/x`, or of the objects in the files of `-f`.
 * Mirrors k8s.io/cli-runtime/pkg/resource/builder.go (ResourceTypeOrNameArgs).
 * @throws LabError FAILED
 */
export async function namedBy(session: Session, line: KubectlLine, words = line.words): Promise<readonly Named[]> {
  const { client, signal } = session;
  const namespace = isOn(line, "all-namespaces") ? undefined : session.namespace;
  const found: Named[] = [];
  const files = texts(line, "filename");
  for (const object of files.length === 0 ? [] : await readObjects(session.context, files)) {
    const known = await resourceOf(client, object, signal);
    found.push({ known, names: [object.metadata?.name ?? ""], namespace: object.metadata?.namespace ?? namespace });
  }
  const [kinds = "", ...names] = words;
  if (words.length === 0 && files.length === 0) throw lineError(line.verb, NO_KIND[line.verb] ?? NO_RESOURCES);
  if (isOn(line, "all") && text(line, "selector") !== undefined) throw lineError(line.verb, ALL_AND_SELECTOR);
  const hasSlashes = words.some((word) => word.includes("/"));
  if (selectsAll(line) && (names.length > 0 || hasSlashes)) throw lineError(line.verb, NAME_AND_SELECTOR);
  if (hasSlashes) {
    for (const word of words) {
      const [kind = "", name = "", ...more] = word.split("/");
      if (!word.includes("/")) throw lineError(line.verb, KIND_APART);
      if (more.length > 0)
        throw lineError(line.verb, "arguments in resource/name form may not have more than one slash");
      if (kind === "" || name === "")
        throw lineError(line.verb, "arguments in resource/name form must have a single resource and name");
      found.push({ known: await findResource(client, kind, signal), names: [name], namespace });
    }
  } else {
    // Names belong to one kind, and `all` is several kinds, so a list with names has only kinds.
    if (kinds === "all" && names.length > 0) throw lineError(line.verb, "you must specify only one resource");
    for (const kind of kinds.split(",").filter((one) => one !== "")) {
      const hasNames = names.length > 0;
      const these = hasNames ? [await findResource(client, kind, signal)] : await findResources(client, kind, signal);
      for (const known of these) found.push({ known, names, namespace });
    }
  }
  return found;
}

/** The selectors of a line, as a list's query has them. */
export function selectorsOf(line: KubectlLine): NonNullable<KubeRequest["query"]> {
  return { labelSelector: text(line, "selector"), fieldSelector: text(line, "field-selector") };
}

/**
 * Calls a function for each object of a line, and continues after a refusal.
 * @returns how many objects the line names, or its selectors found
 * @throws LabError FAILED if the line names no object, and has neither `--all` nor a selector
 */
export async function visit(
  session: Session,
  line: KubectlLine,
  words: readonly string[],
  act: (info: Info) => Promise<void>,
): Promise<number> {
  const { client, signal } = session;
  let count = 0;
  await eachOf(session, await namedBy(session, line, words), async ({ known, names, namespace }) => {
    const infoOf = (found: KubeObject): Info => {
      // The items of a list lack their kind.
      const object = { ...found, apiVersion: known.apiVersion, kind: known.kind };
      const name = object.metadata.name ?? "";
      return { known, name, object, path: objectPath(refOf(known, object.metadata.namespace), name) };
    };
    if (names.length === 0) {
      if (!selectsMany(line)) throw lineError(line.verb, "resource(s) were provided, but no name was specified");
      const request = { method: "GET", path: pathOf(known, namespace), query: selectorsOf(line), signal } as const;
      const { items } = await client.expect<{ items: readonly KubeObject[] }>(request);
      count += items.length;
      return eachOf(session, items, (object) => act(infoOf(object)));
    }
    count += names.length;
    await eachOf(session, names, async (name) => {
      const path = objectPath(refOf(known, namespace), name);
      const object = await getOne(client, line, { method: "GET", path, signal });
      if (object !== undefined) await act(infoOf(object as KubeObject));
    });
  });
  return count;
}

/** Whether a line without names means several objects. */
function selectsMany(line: KubectlLine): boolean {
  return line.verb === "describe" || selectsAll(line) || text(line, "field-selector") !== undefined;
}

function selectsAll(line: KubectlLine): boolean {
  return isOn(line, "all") || text(line, "selector") !== undefined;
}

/** @returns undefined if there is no such object, and the line has `--ignore-not-found` */
export async function getOne(client: KubeClient, line: KubectlLine, request: KubeRequest): Promise<unknown> {
  return client.expect(request).catch((error: unknown) => {
    if (isOn(line, "ignore-not-found") && isNotFound(error)) return undefined;
    throw error;
  });
}

/**
 * Calls a function for each item. Prints a refusal and continues.
 * Mirrors k8s.io/cli-runtime/pkg/resource/visitor.go (ContinueOnErrorVisitor).
 * @throws LabError the first other failure, at the end
 */
export async function eachOf<T>(session: Session, items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const failures: LabError[] = [];
  for (const item of items) {
    await act(item).catch((error: unknown) => {
      if (reportRefusal(session, error)) return;
      if (!(error instanceof LabError)) throw error;
      failures.push(error);
    });
  }
  const [first, ...others] = failures;
  for (const { message } of others) session.warn(`error: ${message}`);
  if (first !== undefined) throw first;
}
