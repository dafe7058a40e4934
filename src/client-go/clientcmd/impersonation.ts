import type { AskingHeaders, RestConfig } from "../rest/client.js";
import { damaged, type NamedEntry } from "./document.js";

/**
 * Asks as somebody else where a kubeconfig's user says so: `as`, `as-uid`, `as-groups`, `as-user-extra`.
 *
 * Mirrors k8s.io/client-go/transport/round_trippers.go (NewImpersonatingRoundTripper).
 * @param path of the kubeconfig
 * @throws LabError BAD_FILE when there are groups, a UID or more for nobody
 */
export function withImpersonation(config: RestConfig, { name, fields }: NamedEntry, path: string): RestConfig {
  const asked = impersonationHeaders(fields);
  if (Object.keys(asked).length === 0) return config;
  const user = asked["Impersonate-User"];
  if (typeof user !== "string") {
    throw damaged(path, `has groups, a UID or more to ask with for user "${name}", but not as whom (as)`);
  }
  const authorize = async (headers: AskingHeaders) => {
    await config.authorize?.(headers);
    Object.assign(headers, asked);
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

/** What cannot stand in a header's name goes as `%xx`. Mirrors headerKeyEscape. */
function escapeKey(key: string): string {
  return [...Buffer.from(key)]
    .map((byte) => {
      const char = String.fromCharCode(byte);
      return /[!#$&'*+\-.^_`|~0-9A-Za-z]/.test(char) ? char : `%${byte.toString(16).padStart(2, "0").toUpperCase()}`;
    })
    .join("");
}
