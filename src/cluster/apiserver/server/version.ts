import { arch, platform } from "node:os";

/** The commits that upstream tagged as `v1.25.0` and so on. */
const RELEASE_COMMITS: Readonly<Record<string, string>> = {
  "1.25": "a866cbe2e5bbaa01cfd5e969aa3e033f3282a8a2",
  "1.26": "b46a3f887ca979b1a5d14fd39cb1af43e7e5d12d",
  "1.27": "1b4df30b3cdfeaba6024e81e559a6cd09a089d65",
  "1.28": "855e7c48de7388eb330da0f8d9d2394ee818fb8d",
  "1.29": "3f7a50f38688eb332e2a1b013678c6435d539ae6",
  "1.30": "7c48c2bd72b9bf5c44d21d7338cc7bea77d0ad2a",
  "1.31": "9edcffcde5595e8a5b1a35f88c421764e575afce",
  "1.32": "70d3cc986aa8221cd1dfb1121852688902d3bf53",
  "1.33": "60a317eadfcb839692a68eab88b2096f4d708f4f",
  "1.34": "f28b4c9efbca5c5c0af716d9f2d5702667ee8a45",
};

/**
 * The content of /version. Mirrors k8s.io/apimachinery/pkg/version (Info).
 * Differs: the build metadata after `+` identifies kubelab, and the commit is that of the release
 * whose behaviour is served; Node and its engine take the place of Go and its compiler.
 */
export function versionInfo(kubeVersion: string): Record<string, string> {
  const [major = "1", minor = "25"] = kubeVersion.split(".");
  return {
    major,
    minor,
    gitVersion: `v${major}.${minor}.0+kubelab`,
    gitCommit: RELEASE_COMMITS[`${major}.${minor}`] ?? "unknown",
    gitTreeState: "archive",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: `node${process.versions.node}`,
    compiler: `v8-${process.versions.v8}`,
    platform: `${platform()}/${arch() === "x64" ? "amd64" : arch()}`,
  };
}
