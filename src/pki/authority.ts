/**
 * A certificate authority: the cluster's own, or another one in a test.
 * PEM in and out; the key never leaves the process unless its owner writes it to a file (0600).
 */
export interface CertificateAuthority {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}
