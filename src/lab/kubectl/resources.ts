import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { collectionPath, type ResourceRef } from "../../staging/client-go/rest/paths.js";
import { type Message, MessageError } from "../../util/i18n/message-error.js";
import type { Code } from "./files.js";
import { similar } from "./unknown-words.js";

/** The only supported category. An unknown word costs a read of every group, so other categories are not searched. */
const ALL = "all";

/** A kind that the server supports. */
export interface KnownResource {
  readonly apiVersion: string;
  /** plural */
  readonly resource: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
}

interface ResourceList {
  readonly groupVersion: string;
  readonly resources?: readonly {
    readonly name: string;
    readonly singularName: string;
    readonly namespaced: boolean;
    readonly kind: string;
    readonly shortNames?: readonly string[];
    readonly categories?: readonly string[];
  }[];
}

/**
 * Finds the kind for a word such as `pods`, `po`, `csr`, `leases.coordination.k8s.io`, by discovery.
 * @throws LabError with the code if the server has no such kind
 */
export async function findResource(
  client: KubeClient,
  word: string,
  signal: AbortSignal,
  code: Code = "FAILED",
): Promise<KnownResource> {
  const [wanted = "", ...group] = word.toLowerCase().split(".");
  const names: string[] = [];
  for await (const { known, words } of kinds(client, signal)) {
    if (group.length > 0 && known.apiVersion.split("/")[0] !== group.join(".").replace(/^v\d\w*\./, "")) continue;
    names.push(known.resource);
    if (words.includes(wanted)) return known;
  }
  throw noSuchKind(code, word, names);
}

function noSuchKind(code: Code, word: string, names: readonly string[]): MessageError {
  const like = similar(names, word);
  const hint: Message = like === undefined ? ["nameAKind"] : ["kubectlDidYouMean", { nearest: like }];
  return new MessageError(code, { verbatim: `the server doesn't have a resource type "${word}"` }, hint);
}

/**
 * The kinds of a category such as `all`, or the one kind that a word names.
 * @throws LabError FAILED if the server has no such kind
 */
export async function findResources(
  client: KubeClient,
  word: string,
  signal: AbortSignal,
): Promise<readonly KnownResource[]> {
  if (word !== ALL) return [await findResource(client, word, signal)];
  const found: KnownResource[] = [];
  for await (const { known, categories } of kinds(client, signal)) if (categories.includes(word)) found.push(known);
  return found;
}

/** Every kind, with its words and categories. */
async function* kinds(client: KubeClient, signal: AbortSignal) {
  for await (const { groupVersion, resources = [] } of lists(client, signal)) {
    for (const { name, singularName, namespaced, kind, shortNames = [], categories = [] } of resources) {
      if (name.includes("/")) continue;
      const known: KnownResource = { apiVersion: groupVersion, resource: name, kind, isNamespaced: namespaced };
      yield { known, words: [name, singularName, kind.toLowerCase(), ...shortNames], categories };
    }
  }
}

/** The core group first, because most words belong to it. */
async function* lists(client: KubeClient, signal: AbortSignal): AsyncGenerator<ResourceList> {
  yield await client.expect<ResourceList>({ method: "GET", path: "/api/v1", signal });
  const { groups } = await client.expect<{ groups: readonly { preferredVersion: { groupVersion: string } }[] }>({
    method: "GET",
    path: "/apis",
    signal,
  });
  for (const { preferredVersion } of groups) {
    yield await client.expect<ResourceList>({ method: "GET", path: `/apis/${preferredVersion.groupVersion}`, signal });
  }
}

/** Finds the kind of an object in a manifest. @throws LabError FAILED */
export async function resourceOf(
  client: KubeClient,
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
  signal: AbortSignal,
): Promise<KnownResource> {
  const path = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const { resources = [] } = await client.expect<ResourceList>({ method: "GET", path, signal });
  const found = resources.find((one) => one.kind === kind && !one.name.includes("/"));
  if (found !== undefined) return { apiVersion, resource: found.name, kind, isNamespaced: found.namespaced };
  throw new MessageError("FAILED", { verbatim: `no matches for kind "${kind}" in version "${apiVersion}"` }, [
    "lookAtManifest",
  ]);
}

export function refOf(
  { apiVersion, resource, isNamespaced }: KnownResource,
  namespace: string | undefined,
): ResourceRef {
  return { apiVersion, resource, ...(isNamespaced && namespace !== undefined ? { namespace } : {}) };
}

export function pathOf(known: KnownResource, namespace: string | undefined): string {
  return collectionPath(refOf(known, namespace));
}

/** `pod/web`, `certificatesigningrequest.certificates.k8s.io/csr-1` */
export function nameOf({ apiVersion, kind }: KnownResource, name: string): string {
  const group = apiVersion.includes("/") ? `.${apiVersion.split("/")[0]}` : "";
  return `${kind.toLowerCase()}${group}/${name}`;
}
