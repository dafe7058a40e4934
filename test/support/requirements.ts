import { execFileSync } from "node:child_process";
import { describe, test } from "vitest";

/** The distribution's Python, whose packages apt installs; another one may come first in PATH. */
export const PYTHON = "/usr/bin/python3";

/** Programs that an integration suite can require, and commands that check for them. */
const PROBES: Readonly<Record<string, readonly [string, ...string[]]>> = {
  "busybox-static": ["sh", "-c", "/bin/busybox true && ! ldd /bin/busybox"],
  chromium: ["/usr/bin/chromium", "--version"],
  containerd: ["sh", "-c", "containerd --version && runc --version && ctr --version"],
  etcd: ["sh", "-c", "etcd --version && etcdctl version"],
  /** a kube-apiserver that the tests start; CI has none */
  "kube-apiserver": ["sh", "-c", '"$KUBELAB_TEST_KUBE_APISERVER" --version'],
  kubectl: ["kubectl", "version", "--client"],
  openssl: ["openssl", "version"],
  python3: ["python3", "--version"],
  "python3-kubernetes": [PYTHON, "-c", "import kubernetes"],
  tmux: ["tmux", "-V"],
  /** root, with permission to mount */
  root: ["unshare", "--mount", "true"],
};

function isPresent(program: string): boolean {
  const [command, ...args] = PROBES[program] ?? [program, "--version"];
  try {
    execFileSync(command, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Programs in KUBELAB_REQUIRE must exist: CI sets it, so that no suite is skipped silently. */
const required = new Set((process.env["KUBELAB_REQUIRE"] ?? "").split(",").filter((name) => name !== ""));

/**
 * A suite that requires programs. A missing one skips the suite, with its name in the title, or fails it if
 * KUBELAB_REQUIRE names it.
 */
export function suiteNeeding(programs: readonly string[], title: string, body: () => void): void {
  const missing = programs.filter((program) => !isPresent(program));
  if (missing.length === 0) {
    describe(title, body);
    return;
  }
  if (missing.some((program) => required.has(program))) {
    test(`${title}: needs ${missing.join(", ")}`, () => {
      throw new Error(`KUBELAB_REQUIRE names ${missing.join(", ")}, and it is not on this machine`);
    });
    return;
  }
  describe.skip(`${title} (skipped: no ${missing.join(", ")} here)`, body);
}
