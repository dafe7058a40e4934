import agnhost from "../../../../fixtures/images/agnhost.json" with { type: "json" };
import busybox from "../../../../fixtures/images/busybox.json" with { type: "json" };
import criTools from "../../../../fixtures/images/cri-tools.json" with { type: "json" };
import dnsutils from "../../../../fixtures/images/dnsutils.json" with { type: "json" };
import documentation from "../../../../fixtures/images/documentation.json" with { type: "json" };
import httpd from "../../../../fixtures/images/httpd.json" with { type: "json" };
import kubernetes from "../../../../fixtures/images/kubernetes.json" with { type: "json" };
import languages from "../../../../fixtures/images/languages.json" with { type: "json" };
import nettool from "../../../../fixtures/images/nettool.json" with { type: "json" };
import nginx from "../../../../fixtures/images/nginx.json" with { type: "json" };
import pause from "../../../../fixtures/images/pause.json" with { type: "json" };
import servers from "../../../../fixtures/images/servers.json" with { type: "json" };
import shells from "../../../../fixtures/images/shells.json" with { type: "json" };
import stress from "../../../../fixtures/images/stress.json" with { type: "json" };
import updateDemo from "../../../../fixtures/images/update-demo.json" with { type: "json" };
import type { Init } from "../../../staging/apimachinery/protobuf/fields.js";
import type { AuthConfig } from "../../../staging/cri/messages/image.js";
import type { ImageDefinition } from "./definition.js";
import type { Refusal } from "./pull-error.js";
import { type Reference, repository } from "./reference.js";

/** All images of the embedded registry. A new image is a file of fixtures/images and a row here. */
export const REGISTRY_IMAGES: readonly ImageDefinition[] = [
  nginx,
  httpd,
  busybox,
  ...shells,
  ...languages,
  ...nettool,
  stress,
  ...servers,
  ...documentation,
  pause,
  ...kubernetes,
  agnhost,
  dnsutils,
  ...updateDemo,
  ...criTools,
];

/** Several images of one repository have different tags. */
const BY_REPOSITORY = new Map<string, ImageDefinition[]>();
for (const image of REGISTRY_IMAGES) {
  for (const name of image.repositories) BY_REPOSITORY.set(name, [...(BY_REPOSITORY.get(name) ?? []), image]);
}

/** Registries that answer, but have no embedded images. Other hosts cannot be resolved. */
const OTHER_HOSTS = ["quay.io", "ghcr.io", "mcr.microsoft.com", "public.ecr.aws"];
const HOSTS = new Set([...OTHER_HOSTS, ...[...BY_REPOSITORY.keys()].map((name) => name.split("/")[0] ?? "")]);

/** Former and other repositories of Kubernetes' images, with their usual ones. */
const MOVED = [
  ["k8s.gcr.io/", "registry.k8s.io/"],
  ["gcr.io/google-containers/", "registry.k8s.io/"],
  ["gcr.io/google_containers/", "registry.k8s.io/"],
  ["gcr.io/google_samples/", "gcr.io/google-samples/"],
  ["us-docker.pkg.dev/google-samples/containers/gke/", "gcr.io/google-samples/"],
  ["us.gcr.io/k8s-artifacts-prod/", "registry.k8s.io/"],
  ["gcr.io/kubernetes-e2e-test-images/", "registry.k8s.io/e2e-test-images/"],
] as const;

/** A repository under its present name: `k8s.gcr.io/pause` is `registry.k8s.io/pause`. */
export function presentRepository(reference: Reference): string {
  const name = repository(reference);
  const [from, to] = MOVED.find(([from]) => name.startsWith(from)) ?? ["", ""];
  return `${to}${name.slice(from.length)}`;
}

/** The image that the registry has in a repository; undefined if there is none. */
export function findDefinition(reference: Reference): ImageDefinition | undefined {
  const images = BY_REPOSITORY.get(presentRepository(reference));
  return images?.find((image) => hasTag(image, reference)) ?? images?.[0];
}

function hasTag({ tags }: ImageDefinition, { tag }: Reference): boolean {
  return tag === undefined || tags.some((known) => isTag(tag, known));
}

/**
 * Why a pull of `reference` fails. @returns undefined if the registry serves it; every digest counts as known
 * @param anyImage serves every name and tag; private images still need their login
 */
export function refusalOf(
  reference: Reference,
  auth: Init<typeof AuthConfig> | undefined,
  anyImage = false,
): Refusal | undefined {
  const name = presentRepository(reference);
  const image = findDefinition(reference);
  if (anyImage && image?.login === undefined) return undefined;
  const host = name.slice(0, name.indexOf("/"));
  if (isOwnAddress(host)) return "refused";
  if (!HOSTS.has(host)) return "unreachable";
  // Docker's registry does not reveal to anonymous clients which repositories exist.
  if (image === undefined) return host === "docker.io" ? "denied" : "not-found";
  if (image.login !== undefined) {
    const given = loginOf(auth);
    if (given === undefined) return "no-login";
    const { username, password = given.password } = image.login;
    if (given.username !== username || given.password !== password) return "wrong-login";
  }
  return hasTag(image, reference) ? undefined : "not-found";
}

/** A name or an address without an embedded registry. */
function isOwnAddress(host: string): boolean {
  return /^(localhost|\[.*\]|\d+\.\d+\.\d+\.\d+)(:\d+)?$/.test(host);
}

function loginOf(auth: Init<typeof AuthConfig> | undefined) {
  const { username = "", password = "", auth: both = "" } = auth ?? {};
  if (username !== "") return { username, password };
  if (both === "") return undefined;
  const [name = "", ...rest] = Buffer.from(both, "base64").toString().split(":");
  return { username: name, password: rest.join(":") };
}

/** @param known a tag, or versions as `1.7..1.29`: also `1.25.3`, `1.25-alpine` and `1` belong to these, but not `1.161` */
function isTag(tag: string, known: string): boolean {
  const [from = "", to] = known.split("..");
  if (to === undefined) return tag === known;
  const version = /^(v?)(\d+(?:\.\d+){0,3})(?:-[\w.-]+)?$/.exec(tag);
  if (version === null || version[1] !== (from.startsWith("v") ? "v" : "")) return false;
  const numbers = numbersOf(version[2] ?? "");
  return comparePrefix(numbers, numbersOf(from)) >= 0 && comparePrefix(numbers, numbersOf(to)) <= 0;
}

function numbersOf(version: string): number[] {
  return version.replace("v", "").split(".").map(Number);
}

/** Compares as many numbers as both have. */
function comparePrefix(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if (a[i] !== b[i]) return (a[i] ?? 0) - (b[i] ?? 0);
  }
  return 0;
}
