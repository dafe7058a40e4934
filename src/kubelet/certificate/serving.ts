import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import type { KeyPair } from "../../staging/client-go/certificate/manager.js";
import { parseCertificatePem } from "../../staging/pki/certificate.js";
import { issueCertificate, issueSelfSigned } from "../../staging/pki/issue.js";
import { generatePrivateKey, keyMatchesCertificate, privateKeyPem, publicKeyDer } from "../../staging/pki/keys.js";
import { NO_SANS, type SubjectAltNames } from "../../staging/pki/sans.js";
import type { Ctx } from "../../trace/ctx.js";
import { LabError } from "../../util/errors.js";
import { describeFileError, makeFolder, writeFileAtomic } from "../../util/os/files.js";
import { CertificateObserver } from "./certificate-observer.js";

export interface SelfSignedOptions {
  /** `--cert-dir`: for `kubelet.crt` and `kubelet.key`; not the client certificate's folder, as the names clash */
  readonly certDirectory: string;
  /** the node's name, or its IP address */
  readonly host: string;
  /** more IP addresses and host names of the server */
  readonly addresses?: readonly string[];
}

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;

/**
 * The certificate that a kubelet signs itself when no cluster signs one. Its CA is created for it and the CA's key is
 * discarded, so no client can know that CA beforehand: an API server that verifies kubelets needs a cluster-signed one.
 *
 * Mirrors cmd/kubelet/app/server.go (InitializeTLS) and k8s.io/client-go/util/cert/cert.go (GenerateSelfSignedCertKey):
 * one year, from an hour ago, `HOST@TIME` of `HOST-ca@TIME`, the certificate and its CA in one file.
 * Differs: ECDSA keys, which take a hundredth of the time; a pair that has expired, does not match or is for other
 * names and addresses is replaced.
 *
 * @throws LabError BAD_FILE
 */
export async function selfSignedServingPair(deps: Ctx, options: SelfSignedOptions): Promise<KeyPair> {
  const { certDirectory, host } = options;
  const certificatePath = join(certDirectory, "kubelet.crt");
  const keyPath = join(certDirectory, "kubelet.key");
  const found = await readPair(certificatePath, keyPath);
  if (found !== undefined && isUsable(found, deps.clock.now(), servingSans(options))) return found;
  const observer = new CertificateObserver(deps.trace);
  return observer.signingOwn(async () => {
    const pair = await generateSelfSignedCertKey(deps, options);
    await makeFolder(certDirectory, 0o700).catch((cause: unknown) => {
      const why = describeFileError(cause);
      throw new LabError("BAD_FILE", `cannot make ${certDirectory}: ${why}`, "Name another folder.", { cause });
    });
    // The key first: a certificate without its key would count as damaged.
    await writeFileAtomic(keyPath, pair.keyPem, { mode: 0o600 });
    await writeFileAtomic(certificatePath, pair.certificatePem);
    const { notAfterMs } = parseCertificatePem(pair.certificatePem);
    observer.signedOwn(certificatePath, host, notAfterMs);
    return pair;
  });
}

/** Mirrors k8s.io/client-go/util/cert/cert.go (GenerateSelfSignedCertKey). */
async function generateSelfSignedCertKey({ clock, random }: Ctx, options: SelfSignedOptions): Promise<KeyPair> {
  const { host } = options;
  const notBeforeMs = clock.now() - HOUR_MS;
  const seconds = Math.floor(clock.now() / 1000);
  const validity = { notBeforeMs, notAfterMs: notBeforeMs + YEAR_MS };
  const [caKey, key] = await Promise.all([generatePrivateKey("ec"), generatePrivateKey("ec")]);
  const caPem = issueSelfSigned(
    caKey,
    {
      ...validity,
      subject: { commonName: `${host}-ca@${seconds}`, organization: [] },
      spkiDer: publicKeyDer(caKey),
      usages: ["digital signature", "key encipherment", "cert sign"],
      isCa: true,
    },
    random,
  );
  const certificatePem = issueCertificate(
    { certificate: parseCertificatePem(caPem), privateKey: caKey },
    {
      ...validity,
      subject: { commonName: `${host}@${seconds}`, organization: [] },
      spkiDer: publicKeyDer(key),
      usages: ["digital signature", "key encipherment", "server auth"],
      sans: servingSans(options),
    },
    random,
  );
  return { certificatePem: certificatePem + caPem, keyPem: privateKeyPem(key) };
}

function servingSans({ host, addresses = [] }: SelfSignedOptions): SubjectAltNames {
  const all = [...new Set([host, ...addresses])];
  return {
    ...NO_SANS,
    ip: all.filter((address) => isIP(address) !== 0),
    dns: all.filter((address) => isIP(address) === 0),
  };
}

async function readPair(certificatePath: string, keyPath: string): Promise<KeyPair | undefined> {
  try {
    const [certificatePem, keyPem] = await Promise.all([readFile(certificatePath, "utf8"), readFile(keyPath, "utf8")]);
    return { certificatePem, keyPem };
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    const why = describeFileError(cause);
    throw new LabError(
      "BAD_FILE",
      `cannot read the serving certificate in ${certificatePath}: ${why}`,
      "Check its permissions.",
      {
        cause,
      },
    );
  }
}

function isUsable({ certificatePem, keyPem }: KeyPair, nowMs: number, wanted: SubjectAltNames): boolean {
  try {
    const { sans, notAfterMs } = parseCertificatePem(certificatePem);
    const has = new Set([...sans.ip, ...sans.dns]);
    const isForUs = [...wanted.ip, ...wanted.dns].every((name) => has.has(name));
    return isForUs && notAfterMs > nowMs && keyMatchesCertificate(keyPem, certificatePem);
  } catch {
    // Not even a certificate.
    return false;
  }
}
