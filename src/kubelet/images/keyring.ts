import type { Init } from "../../staging/apimachinery/protobuf/fields.js";
import type { AuthConfig } from "../../staging/cri/messages/image.js";
import type { PullSecret } from "../container/generic-runtime.js";

type Auth = Init<typeof AuthConfig>;

/** Docker's own registry has two names. */
const DOCKER_REGISTRIES = new Set(["docker.io", "index.docker.io", "registry-1.docker.io"]);

/**
 * The credentials that pull secrets hold for a registry, in the secrets' order.
 *
 * Mirrors pkg/credentialprovider/secrets (MakeDockerKeyring) and keyring.go (Lookup).
 * Differs: registries are compared by host and port; patterns and paths in them are ignored. A secret that cannot be
 * read counts as empty.
 */
export function credentialsFor(domain: string, secrets: readonly PullSecret[]): readonly Auth[] {
  return secrets.flatMap((secret) =>
    Object.entries(registriesOf(secret)).flatMap(([registry, entry]) =>
      isSameRegistry(hostOf(registry), domain) ? [toAuth(entry, domain)] : [],
    ),
  );
}

interface Entry {
  readonly username?: string;
  readonly password?: string;
  /** base64 of `username:password` */
  readonly auth?: string;
  readonly identitytoken?: string;
  readonly registrytoken?: string;
}

function registriesOf({ type, data = {} }: PullSecret): Readonly<Record<string, Entry>> {
  const isNew = type === "kubernetes.io/dockerconfigjson";
  const text = data[isNew ? ".dockerconfigjson" : ".dockercfg"];
  if (text === undefined) return {};
  try {
    const parsed: unknown = JSON.parse(Buffer.from(text, "base64").toString());
    const registries = isNew ? (parsed as { readonly auths?: unknown }).auths : parsed;
    return typeof registries === "object" && registries !== null ? (registries as Record<string, Entry>) : {};
  } catch {
    // Not JSON: the pull continues without it, and its error names the cause.
    return {};
  }
}

function toAuth(entry: Entry, domain: string): Auth {
  const [user, ...rest] = Buffer.from(entry.auth ?? "", "base64")
    .toString()
    .split(":");
  return {
    username: entry.username ?? user ?? "",
    password: entry.password ?? rest.join(":"),
    identityToken: entry.identitytoken ?? "",
    registryToken: entry.registrytoken ?? "",
    serverAddress: domain,
  };
}

/** The host of `https://index.docker.io/v1/`. */
function hostOf(registry: string): string {
  return registry.replace(/^https?:\/\//, "").split("/")[0] ?? "";
}

function isSameRegistry(host: string, domain: string): boolean {
  return host === domain || (DOCKER_REGISTRIES.has(host) && DOCKER_REGISTRIES.has(domain));
}
