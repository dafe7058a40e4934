import type { CertificateSigningRequest } from "../../../staging/apimachinery/api/certificates.js";
import { concurrently } from "../../../staging/apimachinery/wait.js";
import { forEachChange } from "../../../staging/client-go/informers/for-each-change.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import { messageOf } from "../../../util/errors.js";
import type { ControllerDeps } from "../controller.js";
import { asController } from "../support/shared-deps.js";

/** The resource's name for the controllers' clients. */
export const CSR_RESOURCE = "certificatesigningrequests.certificates.k8s.io";

/**
 * Processes one request. Does nothing if the request needs nothing.
 *
 * @param attempt 1, plus one for each failure in a row
 * @throws an error to retry the request; `IgnorableError` if nothing failed but the result can change later
 */
export type CertificateHandler = (csr: CertificateSigningRequest, attempt: number) => Promise<void>;

/** Retried like a failure, but not reported as one. Mirrors ignorableError in certificate_controller.go. */
export class IgnorableError extends Error {
  override readonly name = "IgnorableError";
}

/** The retry limits of these controllers: 200 ms, doubling, up to 1000 s. */
const RETRY_BASE_MS = 200;
const RETRY_MAX_MS = 1_000_000;

type CertificateDeps = Pick<ControllerDeps, "client" | "clock" | "trace">;

/**
 * Calls `handle` for every request: when it appears, after each change, and again after a failure.
 * Ends when `signal` aborts.
 *
 * Mirrors pkg/controller/certificates/certificate_controller.go (NewCertificateController, processNextWorkItem).
 * Differs: one worker, so that every run makes the same trace; no limit of 10 per second over all requests.
 */
export async function runCertificateController(
  deps: CertificateDeps,
  controllerName: string,
  handle: CertificateHandler,
  signal: AbortSignal,
): Promise<void> {
  const queue = new WorkQueue(deps.clock);
  const newest = new Map<string, CertificateSigningRequest>();
  const failures = new Map<string, number>();

  const follow = async (end: AbortSignal) => {
    await forEachChange(deps.trace, deps.client.reflect<CertificateSigningRequest>(CSR_RESOURCE, end), (item) => {
      if (item.type === "initDone") return;
      const name = item.object.metadata.name ?? "";
      if (item.type === "deleted") {
        newest.delete(name);
        failures.delete(name);
        queue.cancel(name);
      } else {
        newest.set(name, item.object);
        queue.add(name);
      }
    });
  };
  const process = async (name: string) => {
    const csr = newest.get(name);
    if (csr === undefined) return;
    const failed = failures.get(name) ?? 0;
    try {
      await handle(csr, failed + 1);
      failures.delete(name);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof IgnorableError)) report(deps, controllerName, name, error);
      failures.set(name, failed + 1);
      queue.addAfter(name, Math.min(RETRY_BASE_MS * 2 ** failed, RETRY_MAX_MS));
    }
  };
  const nothingEscapes = () => undefined;
  await concurrently(signal, follow, (end) => queue.run(process, nothingEscapes, end));
}

function report(deps: CertificateDeps, controllerName: string, name: string, error: unknown): void {
  // After a conflict, the watch delivers the newer version of the request.
  const isConflict = (error as { code?: unknown }).code === 409;
  asController(
    deps.trace,
    { kind: "error", message: `${controllerName}: CSR ${name}: ${messageOf(error)}`, hint: "it is tried again" },
    isConflict ? 3 : 1,
  );
}
