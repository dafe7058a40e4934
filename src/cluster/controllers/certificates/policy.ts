/**
 * How long a certificate is valid. Mirrors pkg/controller/certificates/authority/policies.go
 * (PermissiveSigningPolicy.apply) and signer.go (duration).
 */

const MINUTE_MS = 60_000;
/** Certificates begin a little in the past, so that a node whose clock is slow can use them at once. */
export const BACKDATE_MS = 5 * MINUTE_MS;
/** Shorter certificates keep their full length from now on, because five minutes are a noticeable part of them. */
const SHORT_MS = 8 * 60 * MINUTE_MS;
/** The least validity of a certificate: twice the backdating. */
const MIN_TTL_MS = 10 * MINUTE_MS;
/** kube-controller-manager's --cluster-signing-duration. */
export const DEFAULT_SIGNING_DURATION_MS = 365 * 24 * 60 * MINUTE_MS;

/** @param maxMs --cluster-signing-duration */
export function signingDuration(expirationSeconds: number | undefined, maxMs: number): number {
  if (expirationSeconds === undefined) return maxMs;
  const askedMs = expirationSeconds * 1000;
  if (askedMs > maxMs) return maxMs;
  return Math.max(askedMs, MIN_TTL_MS);
}

export interface Validity {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** the reason for the end, for messages */
  readonly because: string;
}

/**
 * @param caNotAfterMs no certificate outlives the CA
 * @throws Error with upstream's text when the CA has expired
 */
export function validity(nowMs: number, ttlMs: number, caNotAfterMs: number): Validity {
  const isShort = ttlMs < SHORT_MS;
  const wantedMs = nowMs + ttlMs - (isShort ? 0 : BACKDATE_MS);
  const notAfterMs = Math.min(wantedMs, caNotAfterMs);
  const caEnd = new Date(caNotAfterMs).toISOString();
  if (nowMs - BACKDATE_MS >= caNotAfterMs) throw new Error(`the signer has expired: NotAfter=${caEnd}`);
  if (nowMs >= caNotAfterMs) {
    throw new Error(`refusing to sign a certificate that expired in the past: NotAfter=${caEnd}`);
  }
  const because =
    wantedMs > caNotAfterMs
      ? "no certificate outlives the CA"
      : isShort
        ? "shorter than 8 h: the full time from now on"
        : "the validity includes 5 minutes of backdating";
  return { notBeforeMs: nowMs - BACKDATE_MS, notAfterMs, because };
}
