import { LabError } from "../../util/errors.js";
import type { KubeObject } from "../apimachinery/api/meta.js";
import { certificateAuthorityOf } from "../client-go/clientcmd/kubeconfig.js";
import { refusal } from "../client-go/rest/answers.js";
import type { RestConfig } from "../client-go/rest/client.js";
import { type ClientDeps, createClient } from "../client-go/rest/create-client.js";
import { objectPath, PUBLIC_CONFIG_MAPS } from "../client-go/rest/paths.js";
import { publicKeyHash } from "../pki/authority.js";
import { parseCertificate } from "../pki/certificate.js";
import { decodePem } from "../pki/pem.js";
import { detachedJwsIsValid } from "./jws.js";
import type { BootstrapToken } from "./token.js";

const UPSTREAM_FILE = "cmd/kubeadm/app/discovery/token/token.go";
/** The signer signs a moment after the token is created. kubeadm retries every 5 s. */
const RETRY_INTERVAL_MS = 1_000;
/** kubeadm retries for 5 minutes, which is long for a mistyped token. */
const DISCOVERY_TIMEOUT_MS = 5_000;

export interface DiscoveryOptions {
  /** `https://host:port` */
  readonly server: string;
  readonly token: BootstrapToken;
  /** `sha256:<64 hexadecimal digits>` of a SubjectPublicKeyInfo; empty: trust the signature alone, with a warning */
  readonly caCertHashes: readonly string[];
  readonly timeoutMs?: number;
}

/**
 * Finds the cluster's CA from a token, the server's address and the hash of the CA's public key.
 *
 * 1. cluster-info is fetched over an unverified connection, without sending any secret;
 * 2. it must be signed with the token, which only the cluster and joining nodes know;
 * 3. its CA must have the public key with the given hash;
 * 4. cluster-info is fetched again, verified with that CA, and must be the same.
 *
 * Mirrors cmd/kubeadm/app/discovery/token/token.go (retrieveValidatedConfigInfo).
 * Differs: retries every second for 5 s, and gives up on a 401 or 403 at once.
 *
 * @returns the server's address and the CA to verify it with; no credential
 * @throws LabError USAGE for a malformed hash, UNAUTHORIZED for a token that did not sign, CLUSTER_NOT_TRUSTED,
 *   FORBIDDEN,
 *   CLUSTER_UNREACHABLE, TIMED_OUT
 */
export async function discoverCluster(
  deps: ClientDeps,
  options: DiscoveryOptions,
  signal: AbortSignal,
): Promise<RestConfig> {
  const pins = options.caCertHashes.map(parseCaCertHash);
  const { trace } = deps;
  const step = <T>(title: string, func: string, body: () => Promise<T>): Promise<T> =>
    trace.step("kubelet", title, { upstream: { file: UPSTREAM_FILE, func } }, body);

  const insecure: RestConfig = { server: options.server, insecureSkipTlsVerify: true };
  const first = await step("Fetch cluster-info without trusting the answer yet", "getClusterInfo", () =>
    getSignedClusterInfo(deps, insecure, options, signal),
  );
  const caPem = await step("Check the token's signature and the CA's hash", "validateClusterCA", async () => {
    const kubeconfig = validateSignature(first, options.token);
    const caPem = await certificateAuthorityOf(kubeconfig, "of cluster-info");
    if (caPem === undefined) throw notTrusted("cluster-info of this cluster holds no CA", "Join it by kubeconfig.");
    const why = "its cluster-info carries a valid signature of the token";
    if (pins.length === 0) {
      const what = "trust the CA of cluster-info without a hash";
      trace.emit(
        { kind: "decision", what, why: `${why}; anyone who knows the token could still pose as the cluster` },
        { actor: "kubelet" },
      );
    } else {
      const hash = pinnedHash(caPem, pins, options.server);
      trace.emit(
        { kind: "decision", what: "trust the CA of cluster-info", why: `${why}, and its public key has ${hash}` },
        { actor: "kubelet" },
      );
    }
    return caPem;
  });
  const secure: RestConfig = { server: options.server, caPem };
  await step("Fetch it again, now verified with this CA", "retrieveValidatedConfigInfo", async () => {
    const second = await getSignedClusterInfo(deps, secure, options, signal);
    if (kubeconfigOf(second) === kubeconfigOf(first)) return;
    throw notTrusted(
      `${options.server} returned a different cluster-info over the verified connection`,
      "The first connection may have been intercepted: check the network, then try again.",
    );
  });
  return secure;
}

/** Retries until the bootstrap signer has signed with this token, which it does a moment after the token is created. */
async function getSignedClusterInfo(
  deps: ClientDeps,
  config: RestConfig,
  options: DiscoveryOptions,
  signal: AbortSignal,
): Promise<KubeObject> {
  const path = objectPath(PUBLIC_CONFIG_MAPS, "cluster-info");
  const deadlineMs = deps.clock.now() + (options.timeoutMs ?? DISCOVERY_TIMEOUT_MS);
  const unverifiedBecause =
    "The server's certificate cannot be checked yet: no secret is sent, and the answer is not trusted.";
  await using client = createClient(config, { ...deps, unverifiedBecause });
  for (;;) {
    const answer = await client.request<KubeObject>({ method: "GET", path, signal });
    if (answer.status === 403 || answer.status === 401) {
      const { message } = refusal(answer, `GET ${path}`, "anonymous");
      throw new LabError(
        "FORBIDDEN",
        `${options.server} does not show cluster-info to anonymous clients: ${message}`,
        "It was not set up for token discovery (kubeadm init phase bootstrap-token): join with --kubeconfig.",
      );
    }
    if (answer.status !== 200 && answer.status !== 404) throw refusal(answer, `GET ${path}`, "anonymous");
    if (answer.status === 200 && answer.body?.kind !== "ConfigMap") {
      const hint = "No API server listens there: check the address and port. The token was not sent.";
      throw notTrusted(`${options.server} did not answer with a ConfigMap`, hint);
    }
    if (answer.status === 200 && signatureOf(answer.body, options.token) !== undefined) return answer.body;
    if (deps.clock.now() >= deadlineMs) throw notSigned(answer.status, options);
    deps.trace.emit(
      {
        kind: "note",
        text: `cluster-info ${answer.status === 404 ? "does not exist yet" : "is not signed for this token"}: trying again in 1 s`,
      },
      { actor: "kubelet" },
    );
    await deps.clock.sleep(RETRY_INTERVAL_MS, signal);
  }
}

function notSigned(status: number, options: DiscoveryOptions): LabError {
  if (status === 404) {
    return notTrusted(
      `${options.server} has no ConfigMap kube-public/cluster-info`,
      "Check that it is the right cluster. If it is, it was not set up for token discovery (kubeadm init phase bootstrap-token): join with --kubeconfig.",
    );
  }
  return new LabError(
    "UNAUTHORIZED",
    `the cluster does not know token ${options.token.id}.****: cluster-info is not signed with it`,
    "It is unknown, has expired, or lacks usage-bootstrap-signing. Make a new one: kubelab token create --print-join-command",
  );
}

function fields(clusterInfo: KubeObject): Readonly<Record<string, string>> {
  return (clusterInfo["data"] ?? {}) as Readonly<Record<string, string>>;
}

function kubeconfigOf(clusterInfo: KubeObject): string {
  return fields(clusterInfo)["kubeconfig"] ?? "";
}

function signatureOf(clusterInfo: KubeObject, token: BootstrapToken): string | undefined {
  return fields(clusterInfo)[`jws-kubeconfig-${token.id}`];
}

function validateSignature(clusterInfo: KubeObject, token: BootstrapToken): string {
  const kubeconfig = kubeconfigOf(clusterInfo);
  if (detachedJwsIsValid(signatureOf(clusterInfo, token) ?? "", kubeconfig, token.id, token.secret)) return kubeconfig;
  throw notTrusted(
    "cluster-info was not signed with this token",
    "The token's secret half is wrong, or another server answers here. Nothing secret was sent to it.",
  );
}

/**
 * Mirrors cmd/kubeadm/app/util/pubkeypin (Set.Allow): the format of --ca-cert-hash.
 * @throws LabError USAGE
 */
export function parseCaCertHash(text: string): string {
  const digest = /^sha256:([0-9a-f]{64})$/i.exec(text.trim())?.[1];
  if (digest !== undefined) return `sha256:${digest.toLowerCase()}`;
  throw new LabError(
    "USAGE",
    `${JSON.stringify(text)} is not the hash of a CA`,
    "Give sha256: and 64 hexadecimal digits, as `kubelab token create --print-join-command` prints it.",
  );
}

function pinnedHash(caPem: string, pins: readonly string[], server: string): string {
  const seen = decodePem(caPem)
    .filter(({ type }) => type === "CERTIFICATE")
    .map(({ der }) => publicKeyHash(parseCertificate(der)));
  const hash = seen.find((one) => pins.includes(one));
  if (hash !== undefined) return hash;
  throw notTrusted(
    `the CA that ${server} names has the hash ${seen.join(", ")}, not ${pins.join(", ")}`,
    "This address belongs to another cluster, or the hash is of an older CA. The token was not sent to it.",
  );
}

function notTrusted(message: string, hint: string): LabError {
  return new LabError("CLUSTER_NOT_TRUSTED", message, hint);
}
