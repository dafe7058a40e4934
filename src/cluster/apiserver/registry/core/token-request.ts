import type { V1Pod, V1TokenRequestSpec } from "@kubernetes/client-node";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { badRequest, conflict, type FieldError, invalid } from "../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import type { AdmissionPlugin } from "../../../../staging/server/admission/interfaces.js";
import type { Clock } from "../../../../util/clock.js";
import type { ActionHandler, ActionRequest } from "../rest/action.js";
import { admitAction } from "../rest/action-admission.js";
import { invalidValue } from "../rest/field-errors.js";
import { timestamp } from "../rest/object-meta.js";

type Spec = Wire<V1TokenRequestSpec>;

const MIN_EXPIRATION_SECONDS = 10 * 60;
const MAX_EXPIRATION_SECONDS = 2 ** 32;
const TOKEN_REQUEST = { group: "authentication.k8s.io", kind: "TokenRequest" };

/** Signs tokens. See `ServiceAccountTokens` of auth. */
export interface TokenIssuer {
  readonly deps: { readonly apiAudiences: readonly string[] };
  issue(options: {
    readonly serviceAccount: KubeObject;
    readonly pod?: KubeObject;
    readonly secret?: KubeObject;
    readonly audiences: readonly string[];
    readonly expirationSeconds: number;
  }): Promise<{ readonly token: string; readonly expirationTimestamp: string }>;
}

export interface TokenRequestDeps {
  readonly clock: Clock;
  readonly tokens: TokenIssuer;
  readonly admission: readonly AdmissionPlugin[];
}

/**
 * `POST serviceaccounts/token`: a token of a service account, optionally bound to a pod or a secret.
 *
 * Mirrors pkg/registry/core/serviceaccount/storage/token.go (TokenREST.Create).
 */
export function tokenRequestHandler({ clock, tokens, admission }: TokenRequestDeps): ActionHandler {
  return async (request) => {
    const { registry, namespace, name = "", body } = request;
    const admitted = await admitAction(admission, request, {
      resource: "serviceaccounts",
      subresource: "token",
      kind: TOKEN_REQUEST.kind,
    });
    const spec = (admitted?.spec ?? body?.spec ?? {}) as Spec;
    const serviceAccount = await registry.store("serviceaccounts").get(namespace, name);
    const errors = validateSpec(spec);
    if (errors.length > 0) throw invalid(TOKEN_REQUEST, "", errors);
    const audiences = spec.audiences ?? [];
    const bound = await boundObject(request, spec);
    const creationTimestamp = timestamp(clock.now());
    const issued = await tokens.issue({
      serviceAccount,
      ...bound,
      audiences,
      expirationSeconds: expirationOf(spec),
    });
    const { apiAudiences } = tokens.deps;
    const answer: KubeObject = {
      kind: TOKEN_REQUEST.kind,
      apiVersion: `${TOKEN_REQUEST.group}/v1`,
      metadata: { name, ...(namespace === undefined ? {} : { namespace }), creationTimestamp },
      spec: {
        ...spec,
        audiences: audiences.length === 0 ? apiAudiences : audiences,
        expirationSeconds: expirationOf(spec),
        boundObjectRef: spec.boundObjectRef ?? null,
      },
      status: issued,
    };
    return { code: 201, body: answer };
  };
}

const DEFAULT_EXPIRATION_SECONDS = 60 * 60;

function expirationOf({ expirationSeconds }: Spec): number {
  return expirationSeconds ?? DEFAULT_EXPIRATION_SECONDS;
}

/** Mirrors ValidateTokenRequest in pkg/apis/authentication/validation/validation.go. */
function validateSpec(spec: Spec): FieldError[] {
  const field = "spec.expirationSeconds";
  const seconds = expirationOf(spec);
  if (seconds < MIN_EXPIRATION_SECONDS) {
    return [invalidValue(field, seconds, "may not specify a duration less than 10 minutes")];
  }
  if (seconds > MAX_EXPIRATION_SECONDS) {
    return [invalidValue(field, seconds, "may not specify a duration larger than 2^32 seconds")];
  }
  return [];
}

/** @throws StatusError 404, 400 for a pod of another account, 409 for another uid */
async function boundObject(
  { registry, namespace, name = "" }: ActionRequest,
  spec: Spec,
): Promise<{ pod?: KubeObject; secret?: KubeObject }> {
  if (!spec.boundObjectRef) return {};
  const { apiVersion = "", kind = "", name: boundName = "", uid = "" } = spec.boundObjectRef;
  if (apiVersion !== "v1" || (kind !== "Pod" && kind !== "Secret")) {
    throw badRequest(`cannot bind token to object of type ${apiVersion}, Kind=${kind}`);
  }
  const object = await registry.store(kind === "Pod" ? "pods" : "secrets").get(namespace, boundName);
  if (kind === "Pod" && ((object as Wire<V1Pod>).spec?.serviceAccountName ?? "") !== name) {
    const why = `cannot bind token for serviceaccount ${JSON.stringify(name)} to pod running with different serviceaccount name.`;
    throw badRequest(why);
  }
  if (uid !== "" && uid !== object.metadata.uid) {
    const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict({ group: "", resource: kind }, boundName, why);
  }
  return kind === "Pod" ? { pod: object } : { secret: object };
}
