import type { KeyObject } from "node:crypto";
import type { IdentityParts } from "../../../kubelet/certificate/bootstrap.js";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { rfc3339 } from "../../../staging/apimachinery/time.js";
import type { KubeClient } from "../../../staging/client-go/rest/client.js";
import {
  DEFAULT_NODE_TOKEN_GROUP,
  expirationMs,
  SECRETS_PATH,
  tokenSecret,
  tokenSecretName,
} from "../../../staging/cluster-bootstrap/secret.js";
import { type BootstrapToken, parseToken } from "../../../staging/cluster-bootstrap/token.js";
import type { RunParts, Stage } from "../../chaos/stage.js";
import type { Judgement } from "../../chaos/verdict.js";
import { call, type Written } from "./part.js";

/** An example from kubeadm's documentation: the cluster ends with the run. */
const TOKEN = "abcdef.0123456789abcdef";
const ID = "abcdef";
const LIFE_MS = 20_000;
const LOOK_MS = 500;

/** The node joins with the learner's token; then the token cleaner deletes it. */
export function token(written: Written): RunParts {
  const isExpired = (secret: KubeObject, nowMs: number) =>
    written === undefined
      ? nowMs >= (expirationMs(secret) ?? nowMs + 1)
      : call<boolean>(written, "isExpired", secret, nowMs);
  return {
    joinToken: (client, nowMs) => storeToken(client, nowMs, written),
    after: (...args) => expires(...args, isExpired),
  };
}

/** The node's request for a certificate, which only the controllers of the cluster approve. */
export function csr(written: Written): RunParts {
  const joinToken = (client: KubeClient, nowMs: number) => storeToken(client, nowMs, undefined);
  if (written === undefined) return { joinToken };
  const { nodeSubject, csrObject } = written as unknown as IdentityParts;
  const clientUsages = (_: string, key: KeyObject) =>
    call<readonly string[]>(written, "clientUsages", key.asymmetricKeyType);
  return { joinToken, hooks: { identity: { nodeSubject, clientUsages, csrObject } } };
}

async function storeToken(client: KubeClient, nowMs: number, written: Written): Promise<BootstrapToken> {
  const made = written === undefined ? parseToken(TOKEN) : call<BootstrapToken>(written, "parseToken", TOKEN);
  const settings = {
    expiration: rfc3339(nowMs + LIFE_MS),
    usages: ["authentication", "signing"] as const,
    groups: [DEFAULT_NODE_TOKEN_GROUP],
  };
  const body =
    written === undefined
      ? tokenSecret({ token: made, ...settings })
      : call<KubeObject>(written, "tokenSecret", made, settings);
  await client.expect({ method: "POST", path: SECRETS_PATH, body });
  return made;
}

/** Whether the cluster's token cleaner deletes the token when the learner's function calls it expired. */
async function expires(
  { client, clock }: Stage,
  signal: AbortSignal,
  isExpired: (secret: KubeObject, nowMs: number) => boolean,
): Promise<readonly Judgement[]> {
  const path = `${SECRETS_PATH}/${tokenSecretName(ID)}`;
  const startMs = clock.now();
  const judged = (holds: boolean, wanted: string) => [
    { condition: `secret/${tokenSecretName(ID)}=Deleted`, holds, wanted, atMs: clock.now() - startMs },
  ];
  let last: KubeObject | undefined;
  while (clock.now() <= startMs + LIFE_MS + LOOK_MS) {
    const { status, body } = await client.request<KubeObject>({ method: "GET", path, signal });
    if (status === 404) {
      const agrees = last !== undefined && isExpired(last, clock.now() + LOOK_MS);
      return judged(agrees, agrees ? "isExpired agrees" : "isExpired says that it has not expired");
    }
    last = body;
    if (isExpired(body, clock.now() - LOOK_MS)) return judged(false, "isExpired says so before the token cleaner");
    await clock.sleep(LOOK_MS, signal);
  }
  return judged(false, "by the token cleaner");
}
