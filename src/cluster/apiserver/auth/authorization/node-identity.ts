import type { UserInfo } from "../../../../staging/server/authentication/user.js";

const NODES_GROUP = "system:nodes";
const NODE_USER_PREFIX = "system:node:";

/**
 * The node name of a kubelet's user ("" if it has no name), or undefined for other users.
 * Mirrors pkg/auth/nodeidentifier/default.go (NodeIdentity).
 */
export function nodeNameOf(user: UserInfo): string | undefined {
  if (!user.username.startsWith(NODE_USER_PREFIX) || !user.groups.includes(NODES_GROUP)) return undefined;
  return user.username.slice(NODE_USER_PREFIX.length);
}
