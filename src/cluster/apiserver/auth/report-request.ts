import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { groupVersion } from "../../../staging/apimachinery/api/resource.js";
import { StatusError } from "../../../staging/apimachinery/errors.js";
import { collectionPath, objectPath } from "../../../staging/client-go/rest/paths.js";
import type { UserInfo } from "../../../staging/server/authentication/user.js";
import type { RequestFact } from "../../../trace/events.js";
import { redactBody } from "../../../trace/redaction/redact-body.js";
import { versionOf } from "../../../trace/scope.js";
import type { Trace } from "../../../trace/trace.js";
import { LEVELS } from "../../../trace/trace.js";
import { defined } from "../../../util/defined.js";
import { messageOf } from "../../../util/errors.js";
import type { Registry } from "../registry/rest/registry.js";

const METHODS = { create: "POST", update: "PUT", patch: "PATCH", delete: "DELETE" } as const;

/** What a local client wants to do: `create pods/binding default/web`. */
export interface LocalRequest {
  readonly verb: string;
  /** `pods`, `deployments.apps` */
  readonly resource: string;
  readonly subresource?: string | undefined;
  readonly namespace: string | undefined;
  /** undefined for a list, a watch and a creation */
  readonly name?: string | undefined;
}

/** A write of a client in this process. */
export interface LocalWrite extends LocalRequest {
  readonly verb: keyof typeof METHODS;
  /** what is sent, if the answer does not have it */
  readonly body?: KubeObject;
}

/** Reports whether nothing will be written after all; such a request is not reported. */
export type Skip = (isSkipped: boolean) => void;

interface ReportDeps {
  readonly registry: Pick<Registry, "store">;
  readonly trace: Trace;
}

/**
 * Runs a write and reports it as one request: method, path, user, and the status of the answer. What the server reports
 * meanwhile is caused by it.
 */
export async function reportRequest<T>(
  { registry, trace }: ReportDeps,
  user: UserInfo,
  request: LocalWrite,
  act: (skip: Skip) => Promise<T>,
): Promise<T> {
  let isSkipped = false;
  const skip: Skip = (value) => {
    isSkipped = value;
  };
  if (!trace.wants(LEVELS.request)) return act(skip);
  const id = trace.newId();
  const startMs = trace.clock.now();
  const path = pathOf(registry, request);
  const report = (answer: Partial<RequestFact>) => {
    if (isSkipped) return;
    const fact: RequestFact = {
      kind: "request",
      method: METHODS[request.verb],
      path,
      server: IN_PROCESS,
      identity: user.username,
      durationMs: trace.clock.now() - startMs,
      auditId: id,
      ...(trace.wantsBodies && request.body !== undefined ? { requestBody: redactBody(request.body, path) } : {}),
      ...answer,
    };
    trace.emit(fact, { actor: user.username === "system:kube-scheduler" ? "scheduler" : "controller", id });
  };
  try {
    const result = await trace.because({ causedBy: id }, () => act(skip));
    if (result === undefined || result === false) report({ status: 404, outcome: "NotFound" });
    else report({ status: request.verb === "create" ? 201 : 200, ...writtenObject(trace, path, result) });
    return result;
  } catch (error) {
    if (error instanceof StatusError) report({ status: error.code, outcome: `${error.reason}: ${error.message}` });
    else report({ failure: messageOf(error) });
    throw error;
  }
}

/** Takes the place of the server's address of a request over a network. */
const IN_PROCESS = "in this process";

function pathOf(registry: ReportDeps["registry"], request: LocalWrite): string {
  const { group, version, resource } = registry.store(request.resource).definition;
  const apiVersion = groupVersion({ group, version });
  const ref = { apiVersion, resource, ...defined({ namespace: request.namespace }) };
  return request.name === undefined ? collectionPath(ref) : objectPath(ref, request.name, request.subresource);
}

/** The version that was written, and the object where a client over a network would report it. */
function writtenObject(trace: Trace, path: string, result: unknown): Partial<RequestFact> {
  if (typeof result !== "object" || result === null || !("metadata" in result)) return {};
  const version = versionOf(result);
  if (trace.wantsBodies) trace.secrets.learnBody(path, result);
  return { ...defined({ version }), ...(trace.wantsBodies ? { responseBody: redactBody(result, path) } : {}) };
}
