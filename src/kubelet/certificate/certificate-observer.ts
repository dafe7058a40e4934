import type { PendingKey } from "../../staging/client-go/certificate/manager.js";
import { durationText } from "../../util/release/fact.js";
import { constantsFor, factFor } from "../../util/release/facts.js";
import { KubeletObserver } from "../types/observer.js";
import type { CertificateStore } from "./certificate-store.js";

/** Words the facts about the node's certificates. */
export class CertificateObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/certificate/bootstrap/bootstrap.go";

  usesCertificateLeftBehind({ certificatePath, kubeconfigPath }: CertificateStore): void {
    const why = `it is valid for this cluster; ${kubeconfigPath} is missing, or is for another address`;
    this.decision(`use the certificate in ${certificatePath}`, why);
  }

  watchingCsr<T>(csrName: string | undefined, body: () => T): T {
    const file = "staging/src/k8s.io/client-go/util/certificate/csr/csr.go";
    return this.step(`Watch CSR ${csrName} until it is approved and signed`, "WaitForCertificate", body, file);
  }

  storing({ certificatePath }: CertificateStore, commit: () => Promise<void>): Promise<void> {
    const file = "staging/src/k8s.io/client-go/util/certificate/certificate_store.go";
    const commitAndReport = async () => {
      await commit();
      this.state(certificatePath, "file", "written");
    };
    return this.step("Store key and certificate", "Update", commitAndReport, file);
  }

  gettingKey({ keyPath }: CertificateStore, get: () => Promise<PendingKey>): Promise<PendingKey> {
    return this.step("Load or generate the private key (ECDSA P-256)", "LoadClientCert", async () => {
      const key = await get();
      const to = key.isReused ? "reused from an earlier run" : "generated, readable by its owner only";
      this.state(keyPath, "private key", to);
      return key;
    });
  }

  csrUnusable(name: string, why: string): void {
    this.decision("make a new key, and with it a request under another name", `CSR ${name} cannot be used: ${why}`);
  }

  requesting<T>(commonName: string, body: () => T): T {
    const title = `Request a certificate for O=system:nodes, CN=${commonName}`;
    return this.step(title, "requestNodeCertificate", body);
  }

  continuesWithCsr(name: string): void {
    const why = "its name is a digest of key, subject and usages: the same key finds the same request";
    this.decision(`continue with CSR ${name}`, why);
  }

  /** Quotes only the constants in use: a --timeout from the command line is no constant of any release. */
  waits(timeoutMs: number, kubeVersion: string): void {
    const constants =
      timeoutMs === factFor("bootstrapCsrTimeout", kubeVersion)
        ? constantsFor(kubeVersion, "bootstrapCsrTimeout")
        : [{ name: "--timeout", value: durationText(timeoutMs) }];
    const why = "an approver approves the request, then a signer adds the certificate; both are other components";
    this.decision("wait by watch, without polling", why, undefined, { constants });
  }

  writingKubeconfig<T>({ kubeconfigPath }: CertificateStore, body: () => T): T {
    return this.step(`Write ${kubeconfigPath}`, "writeKubeconfigFromBootstrapping", body);
  }

  signingOwn<T>(body: () => T): T {
    return this.step("Sign a serving certificate for this kubelet", "InitializeTLS", body, "cmd/kubelet/app/server.go");
  }

  signedOwn(certificatePath: string, host: string, notAfterMs: number): void {
    const to = `of ${host}'s own CA, until ${new Date(notAfterMs).toISOString()}`;
    this.state(certificatePath, "certificate", to);
  }
}
