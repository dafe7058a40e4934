import { internalError, type StatusError, statusError } from "../../../../staging/apimachinery/errors.js";
import type { Clock } from "../../../../util/clock.js";
import type { Storage } from "../../storage/storage.js";

/** How long a read waits for a future revision. Mirrors blockTimeout in watch_cache.go */
const BLOCK_TIMEOUT_MS = 3000;
const EVERYTHING = "/registry/";

/** @returns undefined for "" @throws StatusError 500 (sic) for text that is not a number */
export function parseResourceVersion(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,19}$/.test(text)) return Number(text);
  const why = /^\d+$/.test(text) ? "value out of range" : "invalid syntax";
  const quoted = JSON.stringify(text);
  throw internalError(`resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: ${why}`);
}

/**
 * Resolves once the storage has reached `revision`.
 *
 * Mirrors k8s.io/apiserver/pkg/storage/cacher/watch_cache.go (waitUntilFreshAndBlock).
 * @throws StatusError 504 after 3 s
 */
export async function waitForRevision(storage: Storage, clock: Clock, revision: number): Promise<void> {
  if (revision === 0 || (await storage.hasReached(revision))) return;
  const current = await storage.currentRevision();
  const done = new AbortController();
  const arrives = async () => {
    for await (const event of storage.watch(EVERYTHING, current, done.signal))
      if (event.revision >= revision) return true;
    return false;
  };
  const isLate = clock.sleep(BLOCK_TIMEOUT_MS, done.signal).then(
    () => false,
    () => false,
  );
  const arrival = arrives();
  const isThere = await Promise.race([arrival, isLate]);
  done.abort();
  await Promise.all([arrival, isLate]);
  if (!isThere) throw tooLarge(revision, await storage.currentRevision());
}

/** Mirrors NewTooLargeResourceVersionError in k8s.io/apiserver/pkg/storage/errors.go. */
function tooLarge(asked: number, current: number): StatusError {
  return statusError(504, "Timeout", `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  });
}
