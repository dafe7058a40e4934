/** What makes a control plane that starts again the same to its clients: credentials that it issued stay valid. */
export interface ClusterIdentity {
  readonly caCertificatePem: string;
  readonly caKeyPem: string;
  /** signs the tokens of service accounts */
  readonly serviceAccountKeyPem: string;
}

/** @returns undefined for text that is no identity */
export function parseIdentity(json: string | undefined): ClusterIdentity | undefined {
  try {
    const identity = JSON.parse(json ?? "") as Partial<ClusterIdentity>;
    const { caCertificatePem, caKeyPem, serviceAccountKeyPem } = identity;
    const isWhole = [caCertificatePem, caKeyPem, serviceAccountKeyPem].every((pem) => pem?.startsWith("-----BEGIN "));
    return isWhole ? (identity as ClusterIdentity) : undefined;
  } catch {
    // The same as JSON without the keys.
    return undefined;
  }
}
