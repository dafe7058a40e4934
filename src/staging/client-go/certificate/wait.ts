import type { Cause, Trace } from "../../../trace/trace.js";
import { ChildAbort } from "../../../util/async/abort.js";
import { LabError } from "../../../util/errors.js";
import { durationText } from "../../../util/release/fact.js";
import type { CertificateSigningRequest } from "../../apimachinery/api/certificates.js";
import { isStatus } from "../../apimachinery/api/meta.js";
import { reflect } from "../cache/reflect.js";
import type { ClientCtx } from "../rest/client.js";
import { CSRS, collectionPath } from "../rest/paths.js";
import { issuedCertificate } from "./csr.js";

export interface WaitOptions {
  /** ms on the clock; the kubelet waits an hour for its first certificate, a quarter of one for later ones */
  readonly timeoutMs: number;
  /** what to do next, in the caller's words; the defaults are general */
  readonly hints?: WaitHints;
}

/** Hints of the errors that end a wait. */
export interface WaitHints {
  readonly denied?: string;
  readonly deleted?: string;
  readonly timedOut?: (csrName: string) => string;
}

/**
 * Waits by watching until a request is approved and its certificate is there.
 *
 * Mirrors k8s.io/client-go/util/certificate/csr/csr.go (WaitForCertificate).
 * Differs: watches from the resourceVersion of the request just made, without listing first.
 *
 * @returns the certificate, PEM
 * @throws LabError CSR_DENIED, CSR_FAILED with the approver's or signer's words, TIMED_OUT, REFUSED when it was deleted
 */
export async function waitForCertificate(
  deps: ClientCtx,
  csr: CertificateSigningRequest,
  options: WaitOptions,
  signal: AbortSignal,
): Promise<string> {
  const name = csr.metadata.name ?? "";
  const told = new Set<string>();
  const { hints = {} } = options;
  const ready = decide(csr, csr, deps.trace, told, hints);
  if (ready !== undefined) return ready;
  using limit = new ChildAbort(signal);
  const timer = deps.clock.sleep(options.timeoutMs, limit.signal).then(
    () => limit.abort(timedOut(name, options.timeoutMs, hints)),
    () => {}, // The wait ended before the timeout.
  );
  try {
    const certificatePem = await watchUntilIssued(deps, csr, told, hints, limit.signal);
    if (certificatePem !== undefined) return certificatePem;
    throw limit.signal.reason;
  } finally {
    limit.abort();
    await timer;
  }
}

async function watchUntilIssued(
  deps: ClientCtx,
  csr: CertificateSigningRequest,
  told: Set<string>,
  hints: WaitHints,
  signal: AbortSignal,
): Promise<string | undefined> {
  for await (const { seen, cause } of versions(deps, csr, signal)) {
    if (seen === "deleted") {
      throw new LabError(
        "REFUSED",
        `CSR ${csr.metadata.name} was deleted before a certificate was issued`,
        hints.deleted ?? "Make a new request: a deleted object gets no certificate.",
      );
    }
    const certificatePem = deps.trace.because(cause, () => decide(seen, csr, deps.trace, told, hints));
    if (certificatePem !== undefined) return certificatePem;
  }
  return undefined;
}

/** A version of the request, and the watch event or list that showed it. */
interface SeenVersion {
  readonly seen: CertificateSigningRequest | "deleted";
  readonly cause: Cause;
}

/** Yields each version of the request after the known one. Falls back to list-and-watch if the first watch breaks. */
async function* versions(
  deps: ClientCtx,
  csr: CertificateSigningRequest,
  signal: AbortSignal,
): AsyncGenerator<SeenVersion> {
  const fieldSelector = `metadata.name=${csr.metadata.name}`;
  const path = collectionPath(CSRS);
  const query = { fieldSelector, resourceVersion: csr.metadata.resourceVersion, allowWatchBookmarks: true };
  try {
    for await (const event of deps.client.watch<CertificateSigningRequest>(path, query, signal)) {
      if (event.type === "ERROR" || isStatus(event.object)) break;
      if (event.type === "DELETED") yield { seen: "deleted", cause: event };
      if (event.type === "ADDED" || event.type === "MODIFIED") yield { seen: event.object, cause: event };
    }
  } catch (error) {
    // Continue below after a broken watch; a refusal ends the wait.
    if (!(error instanceof LabError) || error.code !== "CLUSTER_UNREACHABLE") throw error;
  }
  for await (const event of reflect<CertificateSigningRequest>(deps, { path, fieldSelector }, signal)) {
    if (event.type === "applied") yield { seen: event.object, cause: event };
    if (event.type === "deleted") yield { seen: "deleted", cause: event };
    if (event.type === "initDone" && event.objects.length === 0) yield { seen: "deleted", cause: event };
  }
}

/** Decides what a version of the request means for the caller. Reports a condition when it is first seen. */
function decide(
  seen: CertificateSigningRequest,
  ours: CertificateSigningRequest,
  trace: Trace,
  told: Set<string>,
  hints: WaitHints,
): string | undefined {
  const name = seen.metadata.name ?? "";
  if (seen.metadata.uid !== ours.metadata.uid) {
    throw new LabError(
      "REFUSED",
      `CSR ${name} was replaced by another of the same name`,
      "Run the same command again.",
    );
  }
  const conditions = seen.status?.conditions ?? [];
  for (const { type, reason, message } of conditions) {
    if (told.has(type)) continue;
    told.add(type);
    const to = [type, reason, message].filter(Boolean).join(": ");
    trace.emit({ kind: "state", subject: `CSR ${name}`, what: "condition", to }, { actor: "apiserver" });
  }
  const ended = conditions.find(({ type }) => type === "Denied" || type === "Failed");
  if (ended !== undefined) throw ended.type === "Denied" ? denied(name, ended, hints) : failed(name, ended);
  return conditions.some(({ type }) => type === "Approved") ? issuedCertificate(seen) : undefined;
}

function words(condition: { readonly reason?: string; readonly message?: string }): string {
  return (
    [condition.reason, condition.message].filter((one) => one !== undefined && one !== "").join(": ") ||
    "no reason given"
  );
}

function denied(
  name: string,
  condition: { readonly reason?: string; readonly message?: string },
  hints: WaitHints,
): LabError {
  return new LabError(
    "CSR_DENIED",
    `CSR ${name} was denied: ${words(condition)}`,
    hints.denied ?? "Ask who denied it: a decision is final, only a new request can be approved.",
  );
}

function failed(name: string, condition: { readonly reason?: string; readonly message?: string }): LabError {
  return new LabError(
    "CSR_FAILED",
    `CSR ${name} was approved, but the signer refused it: ${words(condition)}`,
    "Look at it with `kubelab csr inspect`: the signer's rules are listed there.",
  );
}

function timedOut(name: string, timeoutMs: number, hints: WaitHints): LabError {
  return new LabError(
    "TIMED_OUT",
    `CSR ${name} was not approved within ${durationText(timeoutMs)}`,
    hints.timedOut?.(name) ?? `Approve it: kubelab csr approve ${name}`,
  );
}
