import type { UserInfo } from "../../../server/authentication/user.js";

const NODES_GROUP = "system:nodes";
const NODE_USER_PREFIX = "system:node:";

/**
 * Whose kubelet a user is: the node's name ("" for a nameless one), or undefined for everybody else.
 * Mirrors pkg/auth/nodeidentifier/default.go (NodeIdentity).
 */
export function nodeNameOf(user: UserInfo): string | undefined {
  if (!user.username.startsWith(NODE_USER_PREFIX) || !user.groups.includes(NODES_GROUP)) return undefined;
  return user.username.slice(NODE_USER_PREFIX.length);
}
