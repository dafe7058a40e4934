import { LabError } from "../../util/errors.js";
import { base64Text, type CertificateSigningRequest } from "../apimachinery/api/certificates.js";
import { rfc3339 } from "../apimachinery/time.js";
import { type WaitOptions, waitForCertificate } from "../client-go/certificate/wait.js";
import type { ClientCtx } from "../client-go/rest/client.js";
import { parseCertificatePem } from "../pki/certificate.js";
import { parseCertificateRequestPem } from "../pki/csr.js";
import { publicKeyDer } from "../pki/keys.js";
import { nameText } from "../pki/name.js";
import { showEquivalentCommand } from "./create.js";
import { type RequestFiles, readKeyFile, writeCertificate } from "./files.js";

/**
 * Waits for a request's certificate and writes it next to its key.
 *
 * Compares the key with the request before waiting.
 * @returns PEM
 * @throws LabError BAD_FILE if the key is not the request's; CSR_DENIED, CSR_FAILED, TIMED_OUT
 */
export async function fetchCertificate(
  deps: ClientCtx,
  csr: CertificateSigningRequest,
  files: RequestFiles,
  options: WaitOptions,
  signal: AbortSignal,
): Promise<string> {
  const name = csr.metadata.name ?? "";
  const key = await readKeyFile(files.key);
  if (key !== undefined) {
    const { spkiDer } = parseCertificateRequestPem(base64Text(csr.spec.request));
    if (!spkiDer.equals(publicKeyDer(key))) {
      throw new LabError(
        "BAD_FILE",
        `the key ${files.key} is not the one that CSR ${name} was made with`,
        "Choose the key file: its folder with --out-dir, the beginning of its name with --prefix.",
      );
    }
  }
  const upstream = { file: "staging/src/k8s.io/client-go/util/certificate/csr/csr.go", func: "WaitForCertificate" };
  const certificatePem = await deps.trace.step("user", `Wait for the certificate of CSR ${name}`, { upstream }, () =>
    waitForCertificate(deps, csr, options, signal),
  );
  await deps.trace.step("user", "Write the certificate", {}, async () => {
    showEquivalentCommand(
      deps.trace,
      `kubectl get csr ${name} -o jsonpath='{.status.certificate}' | base64 -d > ${files.certificate}`,
    );
    await writeCertificate(files, certificatePem);
    const { subject, notAfterMs, spkiDer } = parseCertificatePem(certificatePem);
    const until = rfc3339(notAfterMs);
    const what = `${nameText(subject)}, until ${until}`;
    deps.trace.emit(
      {
        kind: "state",
        subject: files.certificate,
        what,
        to:
          key === undefined
            ? "written"
            : `written, ${spkiDer.equals(publicKeyDer(key)) ? "matches" : "is not of"} the key`,
      },
      { actor: "user" },
    );
    if (key === undefined) {
      const text = `There is no ${files.key}: the certificate is useless without its key.`;
      deps.trace.emit({ kind: "note", text }, { actor: "user" });
    }
  });
  return certificatePem;
}
