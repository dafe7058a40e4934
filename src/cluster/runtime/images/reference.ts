import { invalid } from "../errors.js";

/** An image name in parts, with defaults filled in. */
export interface Reference {
  /** `docker.io` */
  readonly domain: string;
  /** `library/nginx` */
  readonly path: string;
  readonly tag?: string;
  /** `sha256:...` */
  readonly digest?: string;
}

const DEFAULT_DOMAIN = "docker.io";
const OFFICIAL = "library/";
const MAX_NAME_LENGTH = 255;
const DOMAIN_PART = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const DOMAIN = `(?:${DOMAIN_PART}(?:\\.${DOMAIN_PART})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const PATH_PART = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*";
const NAME = `(${DOMAIN})/(${PATH_PART}(?:/${PATH_PART})*)`;
const REFERENCE = new RegExp(`^${NAME}(?::(\\w[\\w.-]{0,127}))?(?:@([A-Za-z][\\w.+-]*:[0-9a-fA-F]{32,}))?$`);
const SHA256 = /^sha256:[0-9a-f]{64}$/;

/**
 * Parses an image name as docker and containerd do: `nginx` is `docker.io/library/nginx:latest`.
 *
 * Mirrors github.com/distribution/reference (ParseDockerRef). Paths (`../../etc`), names with upper case letters and
 * bare 64 character IDs are invalid.
 * @throws RpcError InvalidArgument
 */
export function parseReference(text: string): Reference {
  const refuse = (why: string) => invalid(`failed to parse image reference "${text}": ${why}`);
  if (/^[a-f0-9]{64}$/.test(text)) {
    throw refuse("invalid repository name, cannot specify 64-byte hexadecimal strings");
  }
  const slash = text.indexOf("/");
  const first = text.slice(0, Math.max(0, slash));
  // The first part is a host if it has a dot, a port or capitals, or is localhost.
  const hasDomain = slash > 0 && (/[.:]/.test(first) || first === "localhost" || first !== first.toLowerCase());
  const domain = hasDomain ? (first === "index.docker.io" ? DEFAULT_DOMAIN : first) : DEFAULT_DOMAIN;
  const rest = hasDomain ? text.slice(slash + 1) : text;
  const full = `${domain}/${domain === DEFAULT_DOMAIN && !rest.includes("/") ? OFFICIAL : ""}${rest}`;
  const match = REFERENCE.exec(full);
  if (match === null) {
    const isUpper = REFERENCE.test(full.toLowerCase());
    throw refuse(isUpper ? "repository name must be lowercase" : "invalid reference format");
  }
  const [, matchedDomain = "", path = "", tag, digest] = match;
  if (matchedDomain.length + 1 + path.length > MAX_NAME_LENGTH) {
    throw refuse(`repository name must not be more than ${MAX_NAME_LENGTH} characters`);
  }
  if (digest !== undefined && !SHA256.test(digest)) throw refuse("invalid checksum digest format");
  // With a digest, containerd drops the tag.
  if (digest !== undefined) return { domain: matchedDomain, path, digest };
  return { domain: matchedDomain, path, tag: tag ?? "latest" };
}

/** `docker.io/library/nginx`, without tag and digest */
export function repository({ domain, path }: Reference): string {
  return `${domain}/${path}`;
}

/** `docker.io/library/nginx:latest` */
export function formatReference(reference: Reference): string {
  const { tag, digest } = reference;
  return `${repository(reference)}${digest === undefined ? `:${tag}` : `@${digest}`}`;
}
