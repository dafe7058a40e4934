import type { Ctx } from "../../../trace/ctx.js";
import type { Fact } from "../../../trace/events.js";
import type { LabError } from "../../../util/errors.js";
import { durationText } from "../../../util/release/fact.js";
import { constantsFor } from "../../../util/release/facts.js";
import type { CertificateSigningRequest } from "../../apimachinery/api/certificates.js";
import type { Certificate } from "../../pki/certificate.js";

const FILE = "staging/src/k8s.io/client-go/util/certificate/certificate_manager.go";

/** The certificate that the facts are about. */
export interface ObservedCertificate {
  /** how facts name it: `client certificate` */
  readonly name: string;
  /** `1.25` */
  readonly kubeVersion: string;
  readonly store: { readonly certificatePath: string };
  /** a note about a new request: its approver */
  readonly requestedNote?: (csrName: string) => string;
}

/** Words the facts of a certificate manager. */
export class ManagerObserver {
  constructor(
    readonly ctx: Ctx,
    readonly config: ObservedCertificate,
  ) {}

  scheduled({ notBeforeMs, notAfterMs }: Certificate, deadlineMs: number): void {
    const lifeMs = notAfterMs - notBeforeMs;
    const share = Math.round(((deadlineMs - notBeforeMs) / lifeMs) * 100);
    this.#emit({
      kind: "decision",
      what: `rotate the ${this.config.name} in ${roughly(deadlineMs - this.ctx.clock.now())}`,
      why: `at ${share} % of its ${roughly(lifeMs)}; the share is random, 70 to 90 %`,
      constants: constantsFor(this.config.kubeVersion, "rotationDeadlineMin", "rotationDeadlineMax"),
      upstream: { file: FILE, func: "nextRotationDeadline" },
    });
  }

  rotating<T>(body: () => Promise<T>): Promise<T> {
    const upstream = { file: FILE, func: "rotateCerts" };
    return this.ctx.trace.step("kubelet", `Request a new ${this.config.name}`, { upstream }, body);
  }

  requested({ metadata }: CertificateSigningRequest): void {
    const text = this.config.requestedNote?.(metadata.name ?? "");
    if (text !== undefined) this.#emit({ kind: "note", text });
  }

  stored({ serialHex, notAfterMs }: Certificate): void {
    const to = `serial ${serialHex.slice(0, 8)}…, until ${new Date(notAfterMs).toISOString()}`;
    this.#emit({ kind: "state", subject: this.config.store.certificatePath, what: "certificate", to });
  }

  failed({ message }: LabError, waitMs: number): void {
    const hint = `trying again in ${durationText(Math.round(waitMs / 1000) * 1000)}`;
    this.#emit({ kind: "error", message: `${this.config.name}: ${message}`, hint });
  }

  #emit(fact: Fact): void {
    this.ctx.trace.emit(fact, { actor: "kubelet" });
  }
}

/** About two digits: `7 min`, `9 h`, `327 days`. */
function roughly(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 2 * 3600) return `${Math.round(seconds / 60)} min`;
  return seconds < 2 * 86_400 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}
