import type { UserInfo } from "../user.js";

const AUTHENTICATED_GROUP = "system:authenticated";
const UNAUTHENTICATED_GROUP = "system:unauthenticated";

/** Adds `system:authenticated`. Mirrors k8s.io/apiserver/pkg/authentication/group/authenticated_group_adder.go. */
export function asAuthenticated(user: UserInfo): UserInfo {
  if (user.groups.includes(AUTHENTICATED_GROUP) || user.groups.includes(UNAUTHENTICATED_GROUP)) return user;
  return { ...user, groups: [...user.groups, AUTHENTICATED_GROUP] };
}
