import { readFileSync } from "node:fs";
import { chmod, lstat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { machineIdOf } from "../../kubelet/nodestatus/machine.js";
import { makeFolder } from "../../util/os/files.js";
import { makeSocketFile } from "../../util/os/socket-file.js";

/** The folders of each Linux machine that pods mount or look into, with their modes; default 0755. */
const FOLDERS: Readonly<Record<string, number | undefined>> = {
  bin: undefined,
  boot: undefined,
  dev: undefined,
  "etc/cni/net.d": undefined,
  "etc/kubernetes": undefined,
  home: undefined,
  lib: undefined,
  mnt: undefined,
  "opt/cni/bin": undefined,
  proc: 0o555,
  root: 0o700,
  "run/containerd": undefined,
  "run/lock": 0o1777,
  sbin: undefined,
  sys: 0o555,
  tmp: 0o1777,
  "usr/bin": undefined,
  "var/cache": undefined,
  "var/lib/containerd": undefined,
  "var/lib/kubelet/device-plugins": undefined,
  "var/lib/kubelet/plugins": undefined,
  "var/lib/kubelet/plugins_registry": undefined,
  "var/lib/kubelet/pod-resources": undefined,
  "var/lib/kubelet/pods": undefined,
  "var/log/containers": undefined,
  "var/log/pods": undefined,
  "var/tmp": 0o1777,
};

const PASSWD = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n";
const GROUP = "root:x:0:\nnogroup:x:65534:\n";

const KUBELET_CONFIG = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };

/** The kubelet's folders as its own code names them, and their places on the node. */
const KUBELET_FOLDERS = {
  log: "var/log",
  ...Object.fromEntries(["pods", "device-plugins", "pod-resources"].map((name) => [name, `var/lib/kubelet/${name}`])),
};

/** The root folder of a simulated node. */
export function nodeRootIn(rootDir: string): string {
  return join(rootDir, "host");
}

/**
 * Makes the root folder of a simulated node: `<rootDir>/host`. What the kubelet writes below `<rootDir>/log` and
 * `<rootDir>/pods` is there at upstream's paths, /var/log and /var/lib/kubelet/pods, so that a DaemonSet that collects logs
 * finds them. Its keys and checkpoints stay outside. /bin, /proc and /sys are the runtime's, where a pod mounts them.
 * @returns the root folder, and its hosts file
 */
export async function makeNodeFiles(
  rootDir: string,
  { nodeName, address, config }: { readonly nodeName: string; readonly address: string; readonly config: object },
): Promise<{ readonly root: string; readonly hostsFile: string }> {
  const { stringify } = await import("../../util/yaml.js");
  const root = nodeRootIn(rootDir);
  await Promise.all(Object.keys(FOLDERS).map((path) => makeFolder(join(root, path), 0o755)));
  const modes = Object.entries(FOLDERS).filter(([, mode]) => mode !== undefined);
  const hostsFile = join(root, "etc/hosts");
  const files: Readonly<Record<string, string>> = {
    "etc/hosts": `127.0.0.1\tlocalhost\n${address}\t${nodeName}\n`,
    "etc/hostname": `${nodeName}\n`,
    "etc/machine-id": `${machineIdOf(nodeName)}\n`,
    "etc/os-release": osRelease(),
    "etc/passwd": PASSWD,
    "etc/group": GROUP,
    "var/lib/kubelet/config.yaml": stringify({ ...KUBELET_CONFIG, ...config }),
  };
  await Promise.all([
    ...modes.map(([path, mode]) => chmod(join(root, path), mode ?? 0)),
    ...Object.entries(files).map(([path, text]) => writeFile(join(root, path), text)),
    ...Object.entries(KUBELET_FOLDERS).map(([name, path]) => link(join(rootDir, name), join("host", path))),
    link(join(root, "var/run"), "../run"),
    makeSocketFile(join(root, "run/containerd/containerd.sock")),
  ]);
  return { root, hostsFile };
}

/** A kubelet of an earlier release may have left a folder in its place, which stays. */
async function link(path: string, target: string): Promise<void> {
  if ((await lstat(path).catch(() => undefined)) !== undefined) return;
  await makeFolder(dirname(path));
  await symlink(target, path);
}

/** This machine's, from which the node's status has its OS image. */
function osRelease(): string {
  try {
    return readFileSync("/etc/os-release", "utf8");
  } catch {
    return `PRETTY_NAME="${process.platform}"\n`; // not Linux
  }
}
