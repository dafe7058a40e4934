import { arch, platform } from "node:os";

/**
 * The content of /version. Mirrors k8s.io/apimachinery/pkg/version (Info).
 * Differs: the build metadata after `+` identifies kubelab; Node and its engine take the place of Go and its compiler.
 */
export function versionInfo(kubeVersion: string): Record<string, string> {
  const [major = "1", minor = "25"] = kubeVersion.split(".");
  return {
    major,
    minor,
    gitVersion: `v${major}.${minor}.0+kubelab`,
    gitCommit: "unknown",
    gitTreeState: "archive",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: `node${process.versions.node}`,
    compiler: `v8-${process.versions.v8}`,
    platform: `${platform()}/${arch() === "x64" ? "amd64" : arch()}`,
  };
}
