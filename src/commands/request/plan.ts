import { readObjects } from "../../lab/kubectl/files.js";
import { findResource, type KnownResource, pathOf, refOf, resourceOf } from "../../lab/kubectl/resources.js";
import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import type { KubeClient, KubeRequest, PatchType } from "../../staging/client-go/rest/client.js";
import { collectionPath, objectPath, PODS } from "../../staging/client-go/rest/paths.js";
import { defined } from "../../util/defined.js";
import { LabError, messageOf } from "../../util/errors.js";
import { manifestFromWord } from "../journey/manifest.js";

/** The requested operation. */
export interface Asked {
  readonly verb: string | undefined;
  /** `pod/web`, `pod/web/binding`, `pods`, `/version` */
  readonly object: string | undefined;
}

export interface AskedOptions {
  readonly filename?: string;
  readonly patch?: string;
  readonly type: "strategic" | "merge" | "json";
  readonly namespace: string;
  readonly dryRun?: boolean;
}

/** One request that is still to be sent; the kind's path is found by discovery. */
export interface Plan {
  readonly method: KubeRequest["method"];
  readonly contentType?: PatchType;
  readonly body?: unknown;
  /** `pod/web`, `pod/web/binding`, `pods`, `/version`; undefined: the body names it */
  readonly object?: string;
}

const METHODS = { create: "POST", get: "GET", update: "PUT", patch: "PATCH", delete: "DELETE" } as const;
const HINT = "For example: kubelab request create pod/web, or kubelab request -f pod.yaml.";
const PATCH_HINT = `For example: -p '{"metadata":{"labels":{"a":"b"}}}'`;

type Reading = Parameters<typeof readObjects>[0];

/**
 * Checks the command line before a control plane is started.
 * @throws LabError USAGE, BAD_FILE
 */
export async function planOf(context: Reading, { verb, object }: Asked, options: AskedOptions): Promise<Plan> {
  const { filename, patch } = options;
  if (verb === undefined && filename === undefined) throw usage("say what to send: a file, or a verb and an object");
  const asked = verb ?? "create";
  if (!Object.hasOwn(METHODS, asked)) {
    throw usage(`${JSON.stringify(asked)} is not a verb: they are ${Object.keys(METHODS).join(", ")}`);
  }
  const method = METHODS[asked as keyof typeof METHODS];
  const takesFile = method === "POST" || method === "PUT";
  if (!takesFile && filename !== undefined) throw usage(`${asked} takes an object, not a file`);
  if (method !== "PATCH" && patch !== undefined) throw usage(`--patch is for patch, not for ${asked}`);
  if (options.dryRun === true && object?.includes("?")) {
    throw usage("a path with a query has no --dry-run: write dryRun=All into the query");
  }
  if (takesFile) return { method, ...(await sentBy(context, asked, object, filename)) };
  if (object === undefined) throw usage(`${asked} needs an object: pod/web`);
  const isNamed = isAddress(object) || /^[^/]+\/[^/]+$/.test(object);
  if (!isNamed && (method !== "GET" || object.includes("/"))) {
    throw usage(`${asked} takes one object as KIND/NAME, and ${JSON.stringify(object)} is none`);
  }
  return { method, object, ...(method === "PATCH" ? patchOf(patch, options.type) : {}) };
}

/** Whether the words address more than an object: a path, or KIND/NAME/SUBRESOURCE. A file can name an object by itself. */
function isAddress(object: string): boolean {
  return object.startsWith("/") || /^[^/]+\/[^/]+\/[^/]+$/.test(object);
}

async function sentBy(
  context: Reading,
  verb: string,
  object: string | undefined,
  file: string | undefined,
): Promise<Pick<Plan, "object" | "body">> {
  const address = object !== undefined && isAddress(object) ? { object } : {};
  if (file === undefined && address.object !== undefined) throw usage(`${verb} ${object} needs a body: -f FILE`);
  if (file !== undefined && object !== undefined && address.object === undefined) {
    throw usage(`both ${object} and ${file} name an object`);
  }
  return { ...address, body: await bodyOf(context, verb, object, file) };
}

async function bodyOf(context: Reading, verb: string, word: string | undefined, file: string | undefined) {
  if (file !== undefined) {
    const objects = await readObjects(context, [file], "USAGE");
    if (objects.length > 1) {
      throw new LabError("BAD_FILE", `${file} has ${objects.length} objects, and one request has one`, HINT);
    }
    return checked(objects[0], file);
  }
  if (word === undefined) throw usage(`${verb} needs an object: -f pod.yaml, or pod/web`);
  return manifestFromWord(word).body;
}

/** @throws LabError BAD_FILE if the file names no kind */
function checked(object: KubeObject | undefined, file: string): KubeObject {
  if (typeof object?.kind === "string" && typeof object.apiVersion === "string") return object;
  throw new LabError("BAD_FILE", `the object in ${file} has no kind or no apiVersion`, HINT);
}

function patchOf(text: string | undefined, type: AskedOptions["type"]): Pick<Plan, "body" | "contentType"> {
  if (text === undefined) throw new LabError("USAGE", "patch needs a patch", PATCH_HINT);
  const contentType: PatchType =
    type === "json" ? "application/json-patch+json" : type === "merge" ? "application/merge-patch+json" : STRATEGIC;
  try {
    return { body: JSON.parse(text), contentType };
  } catch (cause) {
    throw new LabError("USAGE", `the patch is not JSON: ${messageOf(cause)}`, PATCH_HINT, { cause });
  }
}

const STRATEGIC = "application/strategic-merge-patch+json";

function usage(message: string): LabError {
  return new LabError("USAGE", message, HINT);
}

/**
 * Finds the path of the object's kind by discovery.
 * @throws LabError USAGE for a kind that the server does not have; BAD_FILE for an update of an object without a name
 */
export async function addressOf(
  client: KubeClient,
  { object, ...plan }: Plan,
  { namespace, dryRun }: AskedOptions,
  signal: AbortSignal,
): Promise<KubeRequest> {
  const query = dryRun === true ? { query: { dryRun: "All" } } : {};
  if (object?.startsWith("/") === true) return { ...plan, ...query, path: object };
  if (object !== undefined) {
    const [word = "", name, subresource] = object.split("/");
    const ref = refOf(await findResource(client, word, signal, "USAGE"), namespace);
    const path = name === undefined ? collectionPath(ref) : objectPath(ref, name, subresource);
    return { ...plan, ...query, path };
  }
  const body = plan.body as KubeObject & { readonly kind: string; readonly apiVersion: string };
  const ref = refOf(await kindOf(client, body, signal), body.metadata?.namespace ?? namespace);
  if (plan.method !== "PUT") return { ...plan, ...query, path: collectionPath(ref) };
  const name = body.metadata?.name ?? "";
  if (name === "") throw new LabError("BAD_FILE", `the ${body.kind} has no name, and update needs one`, HINT);
  return { ...plan, ...query, path: objectPath(ref, name) };
}

/** The parts of a resource's path: group and version, namespace, resource. A namespace has subresources of its own. */
const RESOURCE_PATH =
  /^(\/api\/[^/]+|\/apis\/[^/]+\/[^/]+)(\/namespaces\/[^/]+(?!\/(?:status|finalize)$)(?=\/))?\/([^/?]+)/;

/**
 * Finds the collection in which a write shows as a watch event, by discovery.
 * @returns undefined if the path is not a resource or cannot be watched, such as a review
 */
export async function watchedCollection(
  client: KubeClient,
  path: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const [, root = "", scope = "", resource] = RESOURCE_PATH.exec(path) ?? [];
  // A Binding is stored in its pod.
  const stored = resource === "bindings" ? PODS.resource : resource;
  if (stored === undefined) return undefined;
  const { status, body } = await client.request<Discovered>({ method: "GET", path: root, signal });
  const found = status === 200 ? body.resources?.find(({ name }) => name === stored) : undefined;
  return found?.verbs.includes("watch") === true ? `${root}${scope}/${stored}` : undefined;
}

interface Discovered {
  readonly resources?: readonly { readonly name: string; readonly verbs: readonly string[] }[];
}

/** Creates an object that must exist before the request. @param what `pod/web`, or a file */
export async function createBefore(
  client: KubeClient,
  context: Reading,
  what: string,
  namespace: string,
): Promise<void> {
  const objects = SAMPLE.test(what)
    ? [manifestFromWord(what).body as unknown as KubeObject]
    : await readObjects(context, [what], "USAGE");
  for (const object of objects) {
    const body = checked(object, what) as KubeObject & { readonly kind: string; readonly apiVersion: string };
    const known = await kindOf(client, body, context.signal);
    const path = pathOf(known, body.metadata?.namespace ?? namespace);
    await client.expect({ method: "POST", path, body, ...defined({ signal: context.signal }) });
  }
}

const SAMPLE = /^(?:pods?|po|deploy(?:ments?)?)\/[^/.]+$/;

/** @throws LabError USAGE for a kind that the server does not have */
async function kindOf(
  client: KubeClient,
  body: { readonly kind: string; readonly apiVersion: string },
  signal: AbortSignal,
): Promise<KnownResource> {
  try {
    return await resourceOf(client, body, signal);
  } catch (cause) {
    // The server does not have the group.
    if (!(cause instanceof LabError) || cause.code !== "REFUSED") throw cause;
    throw usage(`no matches for kind "${body.kind}" in version "${body.apiVersion}"`);
  }
}
