import type { UserInfo } from "../../../../staging/server/authentication/user.js";
import type { RequestInfo } from "../request-info.js";

/** The requests that a fault meets. Absent fields match every request. */
export interface RequestMatch {
  /** `system:node:node-1` */
  readonly user?: string;
  /** `get,list,watch` */
  readonly verb?: string;
  /** in the notation of RBAC: `pods`, `pods/status`, `pods/*`, `*` */
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** Whether a request of this user matches. */
export function matches(match: RequestMatch, info: RequestInfo, user: UserInfo | undefined): boolean {
  const isNamed = (wanted: string | undefined, found: string | undefined) => wanted === undefined || wanted === found;
  return (
    isNamed(match.user, user?.username) &&
    isNamed(match.namespace, info.namespace) &&
    isNamed(match.name, info.name) &&
    (match.verb === undefined || match.verb.split(",").includes(info.verb)) &&
    (match.resource === undefined || isResource(match.resource, info))
  );
}

function isResource(wanted: string, { isResourceRequest, resource, subresource }: RequestInfo): boolean {
  if (wanted === "*") return true;
  const [name, sub = ""] = wanted.split("/");
  return isResourceRequest && name === resource && (sub === "*" || sub === subresource);
}

/** Rules for requests, by what they match. */
export class Rules<T extends { readonly count?: number }> {
  readonly #rules = new Map<string, { readonly match: RequestMatch; readonly rule: T; left: number }>();

  /** @param rule undefined removes the one with this match */
  set(match: RequestMatch, rule: T | undefined): void {
    const key = JSON.stringify([match.user, match.verb, match.resource, match.namespace, match.name]);
    if (rule === undefined) this.#rules.delete(key);
    else this.#rules.set(key, { match, rule, left: rule.count ?? Number.POSITIVE_INFINITY });
  }

  /** The first rule that meets the request, without counting it. */
  find(info: RequestInfo, user: UserInfo | undefined): T | undefined {
    return this.#find(info, user)?.rule;
  }

  /** The first rule that meets the request. Its last use removes it. */
  claim(info: RequestInfo, user: UserInfo | undefined): T | undefined {
    const found = this.#find(info, user);
    if (found !== undefined && --found.left === 0) this.set(found.match, undefined);
    return found?.rule;
  }

  #find(info: RequestInfo, user: UserInfo | undefined) {
    if (this.#rules.size === 0) return undefined;
    return [...this.#rules.values()].find(({ match }) => matches(match, info, user));
  }
}
