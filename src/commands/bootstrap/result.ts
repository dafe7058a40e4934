import type { CertificateStore } from "../../kubelet/certificate/certificate-store.js";
import type { JoinedNode } from "../../testbed/node/join.js";
import type { CommandResult } from "../cli/context.js";

/** The result of `kubelab bootstrap`. @param cluster its description */
export function bootstrapResult(
  nodeName: string,
  node: JoinedNode,
  store: CertificateStore,
  cluster: string,
): CommandResult {
  const { renewTime, csrName, skippedBootstrap } = node;
  const user = `system:node:${nodeName}`;
  const notAfter = new Date(node.notAfterMs).toISOString().replace(".000", "");
  const text = [
    `node ${nodeName} has joined ${cluster} and is Ready`,
    `  certificate  ${user}, until ${notAfter}${skippedBootstrap ? " (it was there already)" : ""}`,
    ...(csrName === undefined ? [] : [`  request      ${csrName}`]),
    `  lease        renewed ${renewTime}`,
    `  files        ${store.keyPath}`,
    `               ${store.certificatePath}`,
    `               ${store.kubeconfigPath}`,
  ].join("\n");
  const json = {
    node: nodeName,
    server: node.config.server,
    ready: true,
    skippedBootstrap,
    csr: csrName ?? null,
    certificate: { user, notAfter },
    lease: { renewTime },
    files: { key: store.keyPath, certificate: store.certificatePath, kubeconfig: store.kubeconfigPath },
  };
  return { text, json, isProse: true };
}
