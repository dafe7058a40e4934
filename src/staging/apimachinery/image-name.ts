/**
 * Names of images. Mirrors github.com/distribution/reference (ParseNormalizedNamed) and
 * pkg/kubelet/images/image_manager.go (applyDefaultImageTag).
 */

const DEFAULT_DOMAIN = "docker.io";
const MAX_NAME_LENGTH = 255;
const DOMAIN_PART = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const DOMAIN = `(?:${DOMAIN_PART}(?:\\.${DOMAIN_PART})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const PATH_PART = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*";
const NAME = `(${DOMAIN}/${PATH_PART}(?:/${PATH_PART})*)`;
const REFERENCE = new RegExp(`^${NAME}(?::(\\w[\\w.-]{0,127}))?(?:@([A-Za-z][\\w.+-]*:[0-9a-fA-F]{32,}))?$`);

export interface ImageName {
  /** the registry: `docker.io`, `registry.k8s.io`, `localhost:5000` */
  readonly domain: string;
  /** with the default tag if it has neither tag nor digest; otherwise as written */
  readonly image: string;
}

export type ImageNameResult =
  | { readonly outcome: "ok"; readonly name: ImageName }
  | { readonly outcome: "invalid"; readonly message: string };

/** Parses an image name in a pod's spec: `nginx` means `nginx:latest` at docker.io. Pure. */
export function parseImageName(text: string): ImageNameResult {
  const refuse = (why: string): ImageNameResult => ({
    outcome: "invalid",
    message: `couldn't parse image reference ${JSON.stringify(text)}: ${why}`,
  });
  if (/^[a-f0-9]{64}$/.test(text)) {
    return refuse(`invalid repository name (${text}), cannot specify 64-byte hexadecimal strings`);
  }
  const slash = text.indexOf("/");
  const first = text.slice(0, Math.max(0, slash));
  const hasDomain = slash > 0 && (/[.:]/.test(first) || first === "localhost" || first !== first.toLowerCase());
  const domain = hasDomain && first !== "index.docker.io" ? first : DEFAULT_DOMAIN;
  const rest = hasDomain ? text.slice(slash + 1) : text;
  const full = `${domain}/${domain === DEFAULT_DOMAIN && !rest.includes("/") ? "library/" : ""}${rest}`;
  const [, name = "", tag, digest] = REFERENCE.exec(full) ?? [];
  if (name === "") {
    const isUpper = REFERENCE.test(full.toLowerCase());
    return refuse(isUpper ? "repository name must be lowercase" : "invalid reference format");
  }
  if (name.length > MAX_NAME_LENGTH) {
    return refuse(`repository name must not be more than ${MAX_NAME_LENGTH} characters`);
  }
  const image = tag === undefined && digest === undefined ? `${text}:latest` : text;
  return { outcome: "ok", name: { domain, image } };
}
