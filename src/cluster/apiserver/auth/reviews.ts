import type {
  V1NonResourceAttributes,
  V1SelfSubjectRulesReview,
  V1SubjectAccessReview,
  V1TokenReview,
} from "@kubernetes/client-node";
import { badRequest, type FieldError, statusError } from "../../../staging/apimachinery/errors.js";
import { goQuote } from "../../../staging/apimachinery/scheme/go-text.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import type { Authenticator } from "../../../staging/server/authentication/authenticator.js";
import type { UserInfo } from "../../../staging/server/authentication/user.js";
import type { AuthorizationAttributes, Authorizer } from "../../../staging/server/authorization/authorizer.js";
import { defined } from "../../../util/defined.js";
import { isRecord } from "../../../util/records.js";
import type { ActionHandler, ActionHandlers, ActionRequest } from "../registry/rest/action.js";

const AUTHORIZATION = "authorization.k8s.io";
const AUTHENTICATION = "authentication.k8s.io";

/**
 * Answers queries about permissions and identities. Nothing is stored: the response is the request with a status.
 *
 * Mirrors pkg/registry/authorization/{subjectaccessreview,selfsubjectaccessreview,localsubjectaccessreview,
 * selfsubjectrulesreview}/rest.go and pkg/registry/authentication/{tokenreview,selfsubjectreview}.
 */
export function reviewHandlers(authenticator: Authenticator, authorizer: Authorizer): ActionHandlers {
  const access =
    (kind: AccessReviewKind): ActionHandler =>
    (request) =>
      reviewAccess(kind, request, authorizer);
  return new Map<string, ActionHandler>([
    [`POST tokenreviews.${AUTHENTICATION}`, (request) => reviewToken(request, authenticator)],
    [`POST selfsubjectreviews.${AUTHENTICATION}`, reviewSelf],
    [`POST subjectaccessreviews.${AUTHORIZATION}`, access("SubjectAccessReview")],
    [`POST selfsubjectaccessreviews.${AUTHORIZATION}`, access("SelfSubjectAccessReview")],
    [`POST localsubjectaccessreviews.${AUTHORIZATION}`, access("LocalSubjectAccessReview")],
    [`POST selfsubjectrulesreviews.${AUTHORIZATION}`, (request) => reviewRules(request, authorizer)],
  ]);
}

type Answer = Awaited<ReturnType<ActionHandler>>;

/** A review is not stored, so its metadata only has an empty creation time. */
function answer(request: ActionRequest, kind: string, group: string, fields: Record<string, unknown>): Answer {
  const { name: _name, ...metadata } = request.body?.metadata ?? {};
  return {
    code: 201,
    body: { kind, apiVersion: `${group}/v1`, metadata: { ...metadata, creationTimestamp: null }, ...fields },
  };
}

async function reviewToken(request: ActionRequest, authenticator: Authenticator): Promise<Answer> {
  const { spec } = (request.body ?? {}) as Partial<Wire<V1TokenReview>>;
  const { token = "", audiences = [] } = spec ?? {};
  if (token === "") throw badRequest("token is required for TokenReview in authentication");
  const result = await authenticator.authenticateToken(token, audiences);
  const status =
    result.user === undefined
      ? { user: {}, error: result.error ?? "invalid bearer token" }
      : { authenticated: true, user: userFields(result.user), audiences: result.audiences };
  return answer(request, "TokenReview", AUTHENTICATION, { spec, status });
}

async function reviewSelf(request: ActionRequest): Promise<Answer> {
  return answer(request, "SelfSubjectReview", AUTHENTICATION, {
    status: { userInfo: userFields(request.context.user) },
  });
}

function userFields({ username, uid, groups, extra }: UserInfo): Record<string, unknown> {
  return { username, ...(uid ? { uid } : {}), groups, ...(extra === undefined ? {} : { extra }) };
}

async function reviewRules(request: ActionRequest, authorizer: Authorizer): Promise<Answer> {
  const { namespace = "" } = (request.body as Wire<V1SelfSubjectRulesReview> | undefined)?.spec ?? {};
  if (namespace === "") throw badRequest("no namespace on request");
  const { resourceRules, nonResourceRules, incomplete, evaluationError } = await authorizer.rulesFor(
    request.context.user,
    namespace,
  );
  // The response omits the spec: upstream returns a new object.
  const status = {
    resourceRules,
    nonResourceRules,
    incomplete,
    ...(evaluationError === undefined ? {} : { evaluationError }),
  };
  const fresh: ActionRequest = { ...request, body: undefined };
  return answer(fresh, "SelfSubjectRulesReview", AUTHORIZATION, { spec: {}, status });
}

type ReviewSpec = Wire<V1SubjectAccessReview>["spec"];
type AccessReviewKind = "SubjectAccessReview" | "SelfSubjectAccessReview" | "LocalSubjectAccessReview";

async function reviewAccess(kind: AccessReviewKind, request: ActionRequest, authorizer: Authorizer): Promise<Answer> {
  const review = request.body as Wire<V1SubjectAccessReview> | undefined;
  const spec: ReviewSpec = review?.spec ?? {};
  const problems = accessReviewProblems(kind, review);
  if (problems.length > 0) throw invalidReview(problems);
  checkNamespace(kind, request);
  const user = kind === "SelfSubjectAccessReview" ? request.context.user : reviewedUser(spec);
  const decision = await authorizer.authorize(reviewedAttributes(spec, user));
  const status = {
    allowed: decision.allowed,
    ...(decision.denied === true ? { denied: true } : {}),
    ...(decision.reason === "" ? {} : { reason: decision.reason }),
  };
  return answer(request, kind, AUTHORIZATION, { spec: withoutEmptyTexts(spec), status });
}

function reviewedUser({ user: username = "", groups, uid, extra }: ReviewSpec): UserInfo {
  return { username, groups: groups ?? [], ...defined({ uid: uid || undefined, extra }) };
}

/** Mirrors pkg/registry/authorization/util/helpers.go (AuthorizationAttributesFrom). */
function reviewedAttributes(spec: ReviewSpec, user: UserInfo): AuthorizationAttributes {
  const resource = spec.resourceAttributes;
  const path = resource ? undefined : spec.nonResourceAttributes;
  return {
    user,
    verb: resource?.verb ?? path?.verb ?? "",
    isResourceRequest: Boolean(resource),
    apiGroup: resource?.group ?? "",
    apiVersion: resource?.version ?? "",
    resource: resource?.resource ?? "",
    subresource: resource?.subresource ?? "",
    namespace: resource?.namespace ?? "",
    name: resource?.name ?? "",
    path: path?.path ?? "",
  };
}

/** Mirrors pkg/apis/authorization/validation/validation.go. */
function accessReviewProblems(kind: AccessReviewKind, review: Wire<V1SubjectAccessReview> | undefined): FieldError[] {
  const { resourceAttributes: resource, nonResourceAttributes: path, user, groups }: ReviewSpec = review?.spec ?? {};
  const problems: FieldError[] = [];
  const problem = (field: string, text: string) => problems.push({ type: "FieldValueInvalid", field, text });
  if (resource && path) {
    const value = goStruct(path);
    problem(
      "spec.nonResourceAttributes",
      `Invalid value: ${value}: cannot be specified in combination with resourceAttributes`,
    );
  }
  if (!resource && !path) {
    const rule = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    problem("spec.resourceAttributes", `Invalid value: "null": ${rule}`);
  }
  const isAboutOthers = kind !== "SelfSubjectAccessReview";
  if (isAboutOthers && !user && (groups ?? []).length === 0) {
    problem("spec.user", `Invalid value: "": at least one of user or group must be specified`);
  }
  if (kind === "LocalSubjectAccessReview") {
    const asked = resource?.namespace ?? "";
    if (resource && asked !== (review?.metadata.namespace ?? "")) {
      problem("spec.resourceAttributes.namespace", `Invalid value: ${goQuote(asked)}: must match metadata.namespace`);
    }
    if (path) {
      const value = goStruct(path);
      problem("spec.nonResourceAttributes", `Invalid value: ${value}: disallowed on this kind of request`);
    }
  }
  return problems;
}

function goStruct({ path = "", verb = "" }: Wire<V1NonResourceAttributes>): string {
  return `authorization.NonResourceAttributes{Path:${goQuote(path)}, Verb:${goQuote(verb)}}`;
}

/** A 422 without a kind, only with the group: upstream's reviews pass an empty kind. */
function invalidReview(problems: readonly FieldError[]): Error {
  const texts = problems.map(({ field, text }) => `${field}: ${text}`);
  const message = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  return statusError(422, "Invalid", `.${AUTHORIZATION} "" is invalid: ${message}`, {
    group: AUTHORIZATION,
    causes: problems.map(({ type, text, field }) => ({ reason: type, message: text, field })),
  });
}

function checkNamespace(kind: AccessReviewKind, request: ActionRequest): void {
  if (kind !== "LocalSubjectAccessReview") return;
  const inBody = request.body?.metadata.namespace ?? "";
  if (request.namespace === undefined || request.namespace === inBody) return;
  throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${request.namespace}`);
}

/** Omits fields that are "". */
function withoutEmptyTexts(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const filled = Object.entries(value).filter(([, field]) => field !== "" && field !== null);
  return Object.fromEntries(filled.map(([name, field]) => [name, withoutEmptyTexts(field)]));
}
