import type { IncomingHttpHeaders } from "node:http";
import { internalError } from "../../../staging/apimachinery/errors.js";
import type { UserInfo } from "../../../staging/server/authentication/user.js";
import type {
  AuthorizationAttributes,
  AuthorizationCause,
  Authorizer,
} from "../../../staging/server/authorization/authorizer.js";
import { forbiddenRequest } from "../auth/authorization/forbidden.js";

const SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:";
const AUTHENTICATED = "system:authenticated";
const UNAUTHENTICATED = "system:unauthenticated";

/** Reports whether a request asks for impersonation; most do not. */
export function isImpersonating(headers: IncomingHttpHeaders): boolean {
  for (const name in headers) if (name.startsWith("impersonate-")) return true;
  return false;
}

/**
 * The user that a request impersonates (`kubectl --as`), after checking that the authenticated user is allowed to.
 *
 * Mirrors k8s.io/apiserver/pkg/endpoints/filters/impersonation.go (WithImpersonation).
 * @returns the user and why each part of it was allowed; undefined when the request does not impersonate
 * @throws StatusError 403 when the authenticated user is not allowed to impersonate this user
 */
export async function impersonate(
  headers: IncomingHttpHeaders,
  user: UserInfo,
  authorizer: Pick<Authorizer, "authorize">,
): Promise<{ readonly user: UserInfo; readonly causes: readonly AuthorizationCause[] } | undefined> {
  const asked = askedFor(headers);
  if (asked === undefined) return undefined;
  const causes = new Set<AuthorizationCause>();
  for (const subject of asked.subjects) {
    const attributes: AuthorizationAttributes = {
      user,
      verb: "impersonate",
      isResourceRequest: true,
      apiVersion: "v1",
      path: "",
      ...subject,
    };
    const decision = await authorizer.authorize(attributes);
    if (!decision.allowed) throw forbiddenRequest(attributes, decision.reason);
    causes.add(decision.cause);
  }
  return { user: asked.user, causes: [...causes] };
}

type Subject = Pick<AuthorizationAttributes, "apiGroup" | "resource" | "subresource" | "namespace" | "name">;

interface Impersonation {
  readonly user: UserInfo;
  /** each of these must be allowed */
  readonly subjects: readonly Subject[];
}

function askedFor(headers: IncomingHttpHeaders): Impersonation | undefined {
  const username = single(headers["impersonate-user"]);
  const groups = list(headers["impersonate-group"]);
  const uid = single(headers["impersonate-uid"]);
  const extra = extraOf(headers);
  if (username === "") {
    if (groups.length === 0 && uid === "" && extra.size === 0) return undefined;
    throw internalError("requested groups, uid or extra values without impersonating a user", "InternalError");
  }
  const serviceAccount = serviceAccountOf(username);
  const subjects: Subject[] = [
    serviceAccount === undefined
      ? subject("users", username)
      : { ...subject("serviceaccounts", ""), ...serviceAccount },
    ...groups.map((group) => subject("groups", group)),
  ];
  if (uid !== "") subjects.push(subject("uids", uid, "authentication.k8s.io"));
  for (const [key, values] of extra) {
    for (const value of values) {
      subjects.push({ ...subject("userextras", value, "authentication.k8s.io"), subresource: key });
    }
  }
  const user: UserInfo = {
    username,
    groups: groupsOf(username, groups, serviceAccount),
    ...(uid === "" ? {} : { uid }),
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
  return { user, subjects };
}

function subject(resource: string, name: string, apiGroup = ""): Subject {
  return { apiGroup, resource, subresource: "", namespace: "", name };
}

function groupsOf(
  username: string,
  asked: readonly string[],
  serviceAccount: { readonly namespace: string } | undefined,
): string[] {
  const groups = [...asked];
  if (serviceAccount !== undefined && groups.length === 0) {
    groups.push("system:serviceaccounts", `system:serviceaccounts:${serviceAccount.namespace}`);
  }
  const defaultGroup = username === "system:anonymous" ? UNAUTHENTICATED : AUTHENTICATED;
  if (!groups.includes(AUTHENTICATED) && !groups.includes(UNAUTHENTICATED)) groups.push(defaultGroup);
  return groups;
}

function serviceAccountOf(username: string): { readonly namespace: string; readonly name: string } | undefined {
  if (!username.startsWith(SERVICE_ACCOUNT_PREFIX)) return undefined;
  const [namespace, name, ...more] = username.slice(SERVICE_ACCOUNT_PREFIX.length).split(":");
  return namespace && name && more.length === 0 ? { namespace, name } : undefined;
}

function single(value: string | string[] | undefined): string {
  return (Array.isArray(value) ? value[0] : value) ?? "";
}

/** Node joins repeated headers with a comma and a space. */
function list(value: string | string[] | undefined): string[] {
  if (value === undefined || value === "") return [];
  return (Array.isArray(value) ? value : value.split(", ")).filter((one) => one !== "");
}

const EXTRA_PREFIX = "impersonate-extra-";

function extraOf(headers: IncomingHttpHeaders): Map<string, string[]> {
  const extra = new Map<string, string[]>();
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith(EXTRA_PREFIX)) continue;
    extra.set(unescapeKey(name.slice(EXTRA_PREFIX.length)), list(value));
  }
  return extra;
}

function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key; // Like upstream, keeps a value that cannot be decoded.
  }
}
