import {
  createApiServerCertificate,
  createAuthority,
  type KeyPair,
  type PkiDeps,
} from "../../staging/pki/authority.js";
import type { CertificateAuthority } from "../../staging/pki/issue.js";
import { SystemClock } from "../../util/clock.js";
import { OffsetClock } from "../../util/offset-clock.js";
import type { TlsFault } from "../apiserver/endpoints/faults/server-faults.js";

/** How long before its time a certificate is used, in ms. */
const EARLY_MS = 24 * 60 * 60_000;
/** For how long an expired certificate has been so, in ms. */
const EXPIRED_MS = 60_000;

/** A serving certificate of the API server that its clients refuse. */
export async function faultyServing(ca: CertificateAuthority, deps: PkiDeps, how: TlsFault): Promise<KeyPair> {
  switch (how) {
    case "expired":
      // TLS libraries use the time of the machine.
      return createApiServerCertificate(ca, { ...deps, clock: new SystemClock() }, { validityMs: -EXPIRED_MS });
    case "not-yet-valid":
      return createApiServerCertificate(ca, { ...deps, clock: new OffsetClock(new SystemClock(), EARLY_MS) });
    case "other-ca":
      return createApiServerCertificate(await createAuthority(deps, { commonName: "kubernetes" }), deps);
    case "wrong-name":
      return createApiServerCertificate(ca, deps, { withoutUsualNames: true, sans: { dns: ["another-host"] } });
  }
}
