import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { rfc3339 } from "../../../staging/apimachinery/time.js";
import { CSRS, objectPath } from "../../../staging/client-go/rest/paths.js";
import { eachOf } from "../builder.js";
import type { KubectlLine } from "../flags.js";
import { lineError } from "../line-error.js";
import type { Session } from "../session.js";

/**
 * `certificate approve|deny NAME`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/certificates/certificates.go (modifyCertificateCondition).
 */
export async function certificate(session: Session, line: KubectlLine): Promise<void> {
  const { client, clock, signal } = session;
  const verdict = line.verb === "certificate approve" ? "approve" : "deny";
  if (line.words.length === 0) {
    throw lineError(line.verb, "one or more CSRs must be specified as <name> or -f <filename>");
  }
  await eachOf(session, line.words, async (word) => {
    const name = word.replace(/^[^/]*\//, "");
    const csr = await client.expect<KubeObject & { status?: { conditions?: readonly unknown[] } }>({
      method: "GET",
      path: objectPath(CSRS, name),
      signal,
    });
    const isApproved = verdict === "approve";
    const condition = {
      type: isApproved ? "Approved" : "Denied",
      status: "True",
      reason: isApproved ? "KubectlApprove" : "KubectlDeny",
      message: `This CSR was ${isApproved ? "approved" : "denied"} by kubectl certificate ${verdict}.`,
      lastUpdateTime: rfc3339(clock.now()),
    };
    const body = { ...csr, status: { ...csr.status, conditions: [...(csr.status?.conditions ?? []), condition] } };
    await client.expect({ method: "PUT", path: objectPath(CSRS, name, "approval"), body, signal });
    session.print(`certificatesigningrequest.certificates.k8s.io/${name} ${isApproved ? "approved" : "denied"}\n`);
  });
}
