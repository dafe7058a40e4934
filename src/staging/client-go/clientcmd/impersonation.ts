import type { AskingHeaders, RestConfig } from "../rest/client.js";
import { damaged, type NamedEntry } from "./document.js";

/**
 * Adds the impersonation headers for the fields `as`, `as-uid`, `as-groups` and `as-user-extra` of a kubeconfig's user.
 *
 * Mirrors k8s.io/client-go/transport/round_trippers.go (NewImpersonatingRoundTripper). client-node sends only `as`.
 * @param path of the kubeconfig
 * @throws LabError BAD_FILE for groups, a UID or extra fields without a user
 */
export function withImpersonation(config: RestConfig, { name, fields }: NamedEntry, path: string): RestConfig {
  const impersonation = impersonationHeaders(fields);
  if (Object.keys(impersonation).length === 0) return config;
  const user = impersonation["Impersonate-User"];
  if (typeof user !== "string") {
    throw damaged(path, `has user "${name}" with as-groups, as-uid or as-user-extra but without as`);
  }
  const authorize = async (headers: AskingHeaders) => {
    await config.authorize?.(headers);
    Object.assign(headers, impersonation);
  };
  return { ...config, authorize, impersonatedUser: user };
}

function impersonationHeaders(fields: NamedEntry["fields"]): AskingHeaders {
  const headers: AskingHeaders = {};
  const { as: user, "as-uid": uid, "as-groups": groups, "as-user-extra": extra } = fields;
  if (typeof user === "string" && user !== "") headers["Impersonate-User"] = user;
  if (typeof uid === "string" && uid !== "") headers["Impersonate-Uid"] = uid;
  if (textsOf(groups).length > 0) headers["Impersonate-Group"] = textsOf(groups);
  for (const [key, values] of Object.entries(typeof extra === "object" && extra !== null ? extra : {})) {
    headers[`Impersonate-Extra-${escapeKey(key)}`] = textsOf(values);
  }
  return headers;
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

/** Escapes characters that a header's name cannot hold as `%XX`. Mirrors headerKeyEscape. */
function escapeKey(key: string): string {
  return [...Buffer.from(key)]
    .map((byte) => {
      const char = String.fromCharCode(byte);
      return /[!#$&'*+\-.^_`|~0-9A-Za-z]/.test(char) ? char : `%${byte.toString(16).padStart(2, "0").toUpperCase()}`;
    })
    .join("");
}
