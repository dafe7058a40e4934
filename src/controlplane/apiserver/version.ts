import { arch, platform } from "node:os";

/**
 * The content of /version. Mirrors k8s.io/apimachinery/pkg/version (Info).
 * Differs: the build metadata after `+` identifies kubelab; there is no Git commit, Go version or compiler to report.
 */
export function versionInfo(kubeVersion: string): Record<string, string> {
  const [major = "1", minor = "25"] = kubeVersion.split(".");
  return {
    major,
    minor,
    gitVersion: `v${major}.${minor}.0+kubelab`,
    gitCommit: "",
    gitTreeState: "",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: "",
    compiler: "",
    platform: `${platform()}/${arch() === "x64" ? "amd64" : arch()}`,
  };
}
