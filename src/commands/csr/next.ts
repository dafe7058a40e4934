import type { CertificateSigningRequest } from "../../staging/apimachinery/api/certificates.js";
import { KUBE_APISERVER_CLIENT_KUBELET } from "../../staging/pki/signers.js";
import type { Target, TargetOptions } from "../../testbed/target/target.js";
import type { Trace } from "../../trace/trace.js";
import { shellWord } from "../../util/text/shell-word.js";

export interface FileOptions {
  readonly outDir: string;
  readonly prefix: string;
}

/** Prints the commands that follow `csr create`. */
export function noteNext(
  trace: Trace,
  target: Target,
  { metadata, spec }: CertificateSigningRequest,
  options: FileOptions & TargetOptions & { readonly approve?: boolean },
): void {
  const name = metadata.name ?? "";
  const { outDir, prefix } = options;
  const fileFlags = [
    ...(outDir === "." ? [] : ["--out-dir", outDir]),
    ...(prefix === "kubelet" ? [] : ["--prefix", prefix]),
  ];
  const approve = `kubelab csr approve ${name}${flagsText(targetFlags(options))}`;
  const fetch = `kubelab csr fetch ${name}${flagsText([...fileFlags, ...targetFlags(options)])}`;
  // csrapproving approves a kubelet's client certificate if the requester is allowed to request it.
  const isApproved = options.approve === true || spec.signerName === KUBE_APISERVER_CLIENT_KUBELET;
  const text =
    target.kind === "embedded"
      ? "This control plane ends with this command, and the CSR with it: use --approve --wait to get the certificate now, or keep a cluster running with `kubelab cluster up`."
      : `Next:\n${isApproved ? "" : `  ${approve}\n`}  ${fetch}`;
  trace.emit({ kind: "note", text }, { actor: "user" });
}

/** The flags that select the same cluster. */
export function targetFlags({ kubeconfig, context, real, cluster }: TargetOptions): string[] {
  return [
    ...(kubeconfig === undefined ? [] : ["--kubeconfig", kubeconfig]),
    ...(context === undefined ? [] : ["--context", context]),
    ...(real === true ? ["--real"] : []),
    ...(cluster === undefined ? [] : ["--cluster", cluster]),
  ];
}

/** Flags for a command line to paste, with a space before each. */
export function flagsText(flags: readonly string[]): string {
  return flags.map((one) => ` ${shellWord(one)}`).join("");
}
