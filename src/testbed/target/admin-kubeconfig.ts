import { rm } from "node:fs/promises";
import { join } from "node:path";
import { ADMIN_KUBECONFIG } from "../../kubelet/certificate/certificate-store.js";
import { kubeconfigText } from "../../staging/client-go/clientcmd/kubeconfig-text.js";
import { writeFileAtomic } from "../../util/os/files.js";
import type { Target } from "./target.js";

/** A kubeconfig that kubectl can use in another terminal. */
export interface AdminKubeconfig extends AsyncDisposable {
  /** undefined: kubectl uses its default, or the target has no administrator */
  readonly path: string | undefined;
  /** `kubectl --kubeconfig PATH` */
  readonly kubectl: string;
}

/**
 * Names the administrator's kubeconfig of a target. An embedded cluster has no file, so this writes one to the node's
 * folder; disposing removes it.
 */
export async function openAdminKubeconfig(folder: string, target: Target | undefined): Promise<AdminKubeconfig> {
  if (target?.kind !== "embedded") return named(target?.kubeconfigPath, async () => {});
  const path = join(folder, ADMIN_KUBECONFIG);
  const names = { cluster: "kubelab", user: "kubelab-admin", context: "kubelab" };
  await writeFileAtomic(path, kubeconfigText(target.admin, names), { mode: 0o600 });
  return named(path, () => rm(path, { force: true }));
}

function named(path: string | undefined, dispose: () => Promise<void>): AdminKubeconfig {
  const kubectl = path === undefined ? "kubectl" : `kubectl --kubeconfig ${path}`;
  return { path, kubectl, [Symbol.asyncDispose]: dispose };
}
