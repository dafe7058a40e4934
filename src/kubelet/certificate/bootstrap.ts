import type { CertificateSigningRequest } from "../../staging/apimachinery/api/certificates.js";
import { csrObject, type RequestResult, requestCertificate } from "../../staging/client-go/certificate/csr.js";
import { checkIssued, type PendingKey } from "../../staging/client-go/certificate/manager.js";
import { type WaitHints, waitForCertificate } from "../../staging/client-go/certificate/wait.js";
import type { KubeClient, RestConfig } from "../../staging/client-go/rest/client.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import { checkNameIsFree } from "../../staging/cluster-bootstrap/taken-name.js";
import { type Certificate, parseCertificatePem } from "../../staging/pki/certificate.js";
import type { Ctx } from "../../trace/ctx.js";
import { ChildAbort } from "../../util/async/abort.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import { CertificateObserver } from "./certificate-observer.js";
import type { CertificateStore } from "./certificate-store.js";
import { clientUsages, digestedName, KUBELET_CLIENT_SIGNER, nodeSubject } from "./node-identity.js";
import { writeNodeKubeconfig } from "./node-kubeconfig.js";
import { certificateLeftBehind, hasBeenThisNode } from "./own-certificate.js";

export interface BootstrapDeps extends Ctx {
  readonly store: CertificateStore;
}

/** The credentials of a bootstrap token, or those of a bootstrap kubeconfig. */
export type BootstrapIdentity = Pick<RestConfig, "token" | "clientCertificatePem" | "clientKeyPem" | "authorize">;

/** What a request for a node's certificate is made with. */
export interface IdentityParts {
  readonly nodeSubject: typeof nodeSubject;
  readonly clientUsages: typeof clientUsages;
  readonly csrObject: typeof csrObject;
}

export interface BootstrapOptions {
  readonly nodeName: string;
  readonly kubeVersion: string;
  /** address and CA of the cluster; a credential in this kubeconfig is ignored */
  readonly cluster: RestConfig;
  readonly identity: BootstrapIdentity;
  /** how long to wait for approval and signature, ms */
  readonly timeoutMs: number;
  /** the certificate lifetime to request; undefined: the signer decides */
  readonly expirationSeconds?: number;
  /** request a new certificate even if the current one is valid */
  readonly force?: boolean;
  /** clients that read this Node when the token may not; default: none, and an existing Node is replaced */
  readonly refuseTakenName?: { readonly orAskAs: readonly KubeClient[] };
  /** default: the functions of these names */
  readonly parts?: IdentityParts;
  /** command that approves the request; shown if it is not approved in time */
  readonly timedOutHint?: (csrName: string) => string;
  /** Runs during the wait, once the request exists: the approver. An error from it ends the wait. */
  readonly whileWaiting?: (csr: CertificateSigningRequest, signal: AbortSignal) => Promise<void>;
}

export interface BootstrapResult {
  /** the node's own identity */
  readonly config: RestConfig;
  readonly certificate: Certificate;
  /** undefined: no request was needed, because an earlier run already obtained the certificate */
  readonly csrName: string | undefined;
}

/**
 * Gets the node its first certificate with a bootstrap token, and writes `kubelet.key`, `kubelet.pem`,
 * `kubelet.config`.
 *
 * A run that was killed resumes where it stopped: the key is on disk before it is used, the request is found by its
 * name, and each file is written atomically.
 *
 * Mirrors pkg/kubelet/certificate/bootstrap/bootstrap.go (LoadClientCert), the path of a kubelet without certificate
 * rotation and with upstream's recoverable names. A kubelet with rotation uses LoadClientConfig and the certificate
 * manager instead, which names its requests `csr-xxxxx`: see kubelet.ts.
 * Differs: no waitForServer, so that an unreachable server is reported at once; a certificate that an earlier run
 * obtained is reused; a node that has never joined this cluster is refused a name that is in use.
 *
 * @throws LabError CSR_DENIED, CSR_FAILED, TIMED_OUT, UNAUTHORIZED, FORBIDDEN, REFUSED, BAD_FILE, CLUSTER_*
 */
export async function loadClientCert(
  deps: BootstrapDeps,
  options: BootstrapOptions,
  signal: AbortSignal,
): Promise<BootstrapResult> {
  const { store, trace, clock } = deps;
  const observer = new CertificateObserver(trace);
  const left = options.force === true ? undefined : await certificateLeftBehind(store, ownerOf(options), clock.now());
  if (left !== undefined) {
    observer.usesCertificateLeftBehind(store);
    return { ...(await writeKubeconfig(deps, options, left)), csrName: undefined };
  }
  const { server, caPem, tlsServerName, insecureSkipTlsVerify } = options.cluster;
  const { token, clientCertificatePem, clientKeyPem, authorize } = options.identity;
  const lowPrivilege: RestConfig = {
    server,
    ...defined({ caPem, tlsServerName, insecureSkipTlsVerify }),
    ...defined({ token, clientCertificatePem, clientKeyPem, authorize }),
  };
  await using client = createClient(lowPrivilege, { ...deps, actor: "kubelet" });
  if (options.refuseTakenName !== undefined && !(await hasBeenThisNode(store, ownerOf(options)))) {
    await checkNameIsFree(trace, [client, ...options.refuseTakenName.orAskAs], options.nodeName, signal);
  }
  const observed = { ...deps, client, observer };
  const request = await sendRequest(observed, options, signal);
  const certificatePem = await observer.watchingCsr(request.csr.metadata.name, () =>
    waitWithApprover(observed, options, request.csr, signal),
  );
  const keyPem = request.keyPem;
  checkIssued(certificatePem, keyPem, clock.now());
  await observer.storing(store, () => store.commit({ keyPem, certificatePem }));
  const csrName = request.csr.metadata.name ?? "";
  return { ...(await writeKubeconfig(deps, options, { keyPem, certificatePem })), csrName };
}

function ownerOf({ nodeName, cluster }: BootstrapOptions) {
  return { nodeName, caPem: cluster.caPem };
}

interface ObservedDeps extends BootstrapDeps {
  readonly client: Parameters<typeof requestCertificate>[0];
  readonly observer: CertificateObserver;
}

interface SentRequest {
  readonly csr: CertificateSigningRequest;
  readonly keyPem: string;
}

async function sendRequest(deps: ObservedDeps, options: BootstrapOptions, signal: AbortSignal): Promise<SentRequest> {
  const { store, observer } = deps;
  for (const forget of [false, true]) {
    const pending = await observer.gettingKey(store, () => store.pendingKey({ forget }));
    const result = await sendOnce(deps, options, pending, signal);
    if (result.outcome !== "unusable") return { csr: result.csr, keyPem: pending.keyPem };
    observer.csrUnusable(result.name, result.why);
  }
  throw new LabError(
    "REFUSED",
    "a request with this name exists, although the key is new",
    "Run the same command again.",
  );
}

async function sendOnce(
  { client, observer, clock }: ObservedDeps,
  options: BootstrapOptions,
  pending: PendingKey,
  signal: AbortSignal,
): Promise<RequestResult> {
  const parts = options.parts ?? { nodeSubject, clientUsages, csrObject };
  const subject = parts.nodeSubject(options.nodeName);
  const usages = parts.clientUsages(options.kubeVersion, pending.key);
  const name = digestedName(pending.key, subject, usages);
  return observer.requesting(subject.commonName, async () => {
    const result = await requestCertificate(
      client,
      {
        key: pending.key,
        subject,
        usages,
        name,
        csrObject: parts.csrObject,
        signerName: KUBELET_CLIENT_SIGNER,
        nowMs: clock.now(),
        ...defined({ expirationSeconds: options.expirationSeconds }),
      },
      signal,
    );
    if (result.outcome === "reused") observer.continuesWithCsr(name);
    return result;
  });
}

/** Waits for the certificate. An error of the approver ends the wait, and the end of the wait stops the approver. */
async function waitWithApprover(
  deps: ObservedDeps,
  options: BootstrapOptions,
  csr: CertificateSigningRequest,
  signal: AbortSignal,
): Promise<string> {
  using ours = new ChildAbort(signal);
  const approver = options.whileWaiting?.(csr, ours.signal).catch((error: unknown) => ours.abort(error));
  try {
    const { timeoutMs, kubeVersion } = options;
    deps.observer.waits(timeoutMs, kubeVersion);
    return await waitForCertificate(deps, csr, { timeoutMs, hints: hintsFor(options) }, ours.signal);
  } finally {
    ours.abort();
    await approver;
  }
}

function hintsFor({ timedOutHint }: BootstrapOptions): WaitHints {
  return {
    denied: "Ask who denied it. Running the same command again makes a new key and a new request.",
    deleted: "Run the same command again: it makes a new request with the same key.",
    ...defined({ timedOut: timedOutHint }),
  };
}

async function writeKubeconfig(
  { store, trace }: BootstrapDeps,
  options: BootstrapOptions,
  pair: { readonly keyPem: string; readonly certificatePem: string },
) {
  const { server, caPem, tlsServerName, insecureSkipTlsVerify } = options.cluster;
  const config: RestConfig = {
    server,
    ...defined({ caPem, tlsServerName, insecureSkipTlsVerify }),
    clientCertificatePem: pair.certificatePem,
    clientKeyPem: pair.keyPem,
  };
  await writeNodeKubeconfig(store, trace, config);
  return { config, certificate: parseCertificatePem(pair.certificatePem) };
}
