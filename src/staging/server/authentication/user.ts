/** The sender of a request. Mirrors user.Info in k8s.io/apiserver/pkg/authentication/user/user.go. */
export interface UserInfo {
  /** `system:node:n1`, `system:bootstrap:abcdef`, `system:anonymous` */
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

const AUTHENTICATED_GROUP = "system:authenticated";
const UNAUTHENTICATED_GROUP = "system:unauthenticated";

export const ANONYMOUS: UserInfo = { username: "system:anonymous", groups: [UNAUTHENTICATED_GROUP] };

/** Adds `system:authenticated`. Mirrors k8s.io/apiserver/pkg/authentication/group/authenticated_group_adder.go. */
export function asAuthenticated(user: UserInfo): UserInfo {
  if (user.groups.includes(AUTHENTICATED_GROUP) || user.groups.includes(UNAUTHENTICATED_GROUP)) return user;
  return { ...user, groups: [...user.groups, AUTHENTICATED_GROUP] };
}
