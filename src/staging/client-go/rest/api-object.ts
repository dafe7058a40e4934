import { LabError } from "../../../util/errors.js";
import { isRecord } from "../../../util/records.js";
import type { KubeList, KubeObject } from "../../apimachinery/api/meta.js";
import { isSuccess } from "./answers.js";
import type { KubeRequest, KubeResponse } from "./client.js";

/** Paths whose responses are API objects, not a container's log or the response of a proxied server. */
const OBJECT_PATH = /^\/apis?(\/|$)(?!.*\/(log|proxy)(\/|$))/;
/** Kinds without metadata. */
const BARE_KIND = /^Status$|^API|Review$/;

export const NOT_AN_API_SERVER = "Check that the address leads to an API server.";

/**
 * Checks the parts of a successful response that all API objects have, because callers rely on them.
 * @throws LabError CLUSTER_NOT_TRUSTED for something else
 */
export function checkBody({ method, path }: KubeRequest, answer: KubeResponse): void {
  const { body } = answer;
  const isRight = path === "/version" ? isRecord(body) : !OBJECT_PATH.test(path) || isApiObject(body);
  if (isRight || !isSuccess(answer)) return;
  throw new LabError(
    "CLUSTER_NOT_TRUSTED",
    `the response to ${method} ${path} is not an API object`,
    NOT_AN_API_SERVER,
  );
}

function isApiObject(body: unknown): boolean {
  if (!isRecord(body) || typeof body["kind"] !== "string") return false;
  if (BARE_KIND.test(body["kind"])) return true;
  return isRecord(body["metadata"]) && (!body["kind"].endsWith("List") || isApiList(body));
}

/** Whether a response is a list of objects. Their other fields are not checked. */
export function isApiList<T extends KubeObject>(body: unknown): body is KubeList<T> {
  if (!isRecord(body) || typeof body["kind"] !== "string" || !isRecord(body["metadata"])) return false;
  const items = body["items"] ?? [];
  return Array.isArray(items) && items.every((item) => isRecord(item) && isRecord(item["metadata"]));
}
