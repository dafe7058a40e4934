import type { LinuxContainerSecurityContext } from "../../../staging/cri/messages/security.js";
import type { ContainerFs } from "../../shell/fs/container-fs.js";
import { groupIdOf, groupsOf, readAccounts } from "../../shell/process/accounts.js";
import { invalid } from "../errors.js";
import type { ImageDefinition } from "../images/definition.js";

/** The user of a container's processes. */
export interface ContainerUser {
  readonly uid: number;
  readonly gid: number;
  /** all groups, including the primary one */
  readonly groups: readonly number[];
  readonly name: string;
  readonly home: string;
}

/**
 * The user of the pod's security context, or the image's, looked up in the container's /etc/passwd.
 * @throws RpcError InvalidArgument for an unknown name of a user or group
 */
export function containerUser(
  fs: ContainerFs,
  image: ImageDefinition,
  security: LinuxContainerSecurityContext | undefined,
): ContainerUser {
  const [imageUser = "", imageGroup] = image.user.split(":");
  const name = security?.runAsUsername || (security?.runAsUser === undefined ? imageUser : "");
  const lines = readAccounts(fs);
  const wanted = name === "" ? Number(security?.runAsUser?.value ?? 0n) : name;
  const isNumber = typeof wanted === "number" || /^\d+$/.test(wanted);
  const line = lines.find((one) => (isNumber ? one.uid === Number(wanted) : one.name === wanted));
  if (!isNumber && line === undefined)
    throw invalid(`unable to find user ${wanted}: no matching entries in passwd file`);
  const uid = line?.uid ?? Number(wanted);
  const group = security?.runAsGroup?.value ?? (name !== "" && imageGroup !== undefined ? imageGroup : undefined);
  const gid = group === undefined ? (line?.gid ?? 0) : groupIdOf(fs, String(group));
  if (gid === undefined) throw invalid(`unable to find group ${group}: no matching entries in group file`);
  const own = line === undefined ? [gid] : groupsOf(fs, { name: line.name, gid });
  // The kernel keeps them in order (groups_sort).
  const all = [...own, ...(security?.supplementalGroups ?? []).map(Number)];
  const groups = [...new Set(all)].sort((a, b) => a - b);
  return { uid, gid, groups, name: line?.name ?? String(uid), home: line?.home ?? "/" };
}
