import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { PodHostNameResult } from "../container/runtime-helper.js";

/** The kernel's limit for a label; 64 for the whole name. */
const HOSTNAME_MAX_LENGTH = 63;
const FQDN_MAX_LENGTH = 64;
const DNS_1123_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/**
 * A pod's host name and its domain.
 *
 * Mirrors GeneratePodHostNameAndDomain and truncatePodHostnameIfNeeded in pkg/kubelet/kubelet_pods.go. Pure.
 */
export function generatePodHostNameAndDomain(pod: V1Pod, clusterDomain: string): PodHostNameResult {
  const { name, namespace } = pod.metadata;
  const own = textOf(pod.spec["hostname"]);
  const subdomain = textOf(pod.spec["subdomain"]);
  for (const [what, text] of [
    ["Hostname", own],
    ["Subdomain", subdomain],
  ] as const) {
    const problem = text === "" ? undefined : labelProblem(text);
    if (problem !== undefined) {
      return { outcome: "failed", message: `pod ${what} ${JSON.stringify(text)} is not a valid DNS label: ${problem}` };
    }
  }
  const hostname = truncateIfNeeded(own === "" ? name : own);
  if (hostname === "") {
    return {
      outcome: "failed",
      message: `hostname for pod ${JSON.stringify(name)} was invalid: ${JSON.stringify(own)}`,
    };
  }
  const domain = subdomain === "" ? "" : `${subdomain}.${namespace}.svc.${clusterDomain}`;
  return { outcome: "ok", hostname, domain };
}

/**
 * The output of `hostname` in the pod: with setHostnameAsFQDN the full name.
 * Mirrors GetNodenameForKernel in pkg/kubelet/util/util.go. Pure.
 */
export function nodenameForKernel(
  pod: V1Pod,
  hostname: string,
  domain: string,
): { readonly nodename: string } | { readonly problem: string } {
  if (pod.spec["setHostnameAsFQDN"] !== true || domain === "") return { nodename: hostname };
  const fqdn = `${hostname}.${domain}`;
  if (fqdn.length <= FQDN_MAX_LENGTH) return { nodename: fqdn };
  const lengths = `(${FQDN_MAX_LENGTH} characters is the max, ${fqdn.length} characters requested)`;
  return {
    problem: `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long ${lengths}`,
  };
}

/** Also removes trailing characters that a label cannot end with. */
function truncateIfNeeded(hostname: string): string {
  if (hostname.length <= HOSTNAME_MAX_LENGTH) return hostname;
  return hostname.slice(0, HOSTNAME_MAX_LENGTH).replace(/[-.]+$/, "");
}

/** Mirrors IsDNS1123Label in k8s.io/apimachinery/pkg/util/validation. */
function labelProblem(text: string): string | undefined {
  const problems: string[] = [];
  if (text.length > HOSTNAME_MAX_LENGTH) problems.push(`must be no more than ${HOSTNAME_MAX_LENGTH} characters`);
  if (!DNS_1123_LABEL.test(text)) {
    const parts =
      "must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric";
    const example = "(e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
    problems.push(`a lowercase RFC 1123 label ${parts} character ${example}`);
  }
  return problems.length === 0 ? undefined : problems.join(";");
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
