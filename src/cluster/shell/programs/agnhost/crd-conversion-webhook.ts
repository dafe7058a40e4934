import { isRecord } from "../../../../util/records.js";
import type { Self } from "../../process/process.js";
import type { Flags } from "./flags.js";
import { serveTls } from "./serve-tls.js";
import { bodyOf } from "./web.js";

type Resource = Readonly<Record<string, unknown>>;

const API_VERSIONS = new Set(["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"]);
const V1 = "stable.example.com/v1";
const V2 = "stable.example.com/v2";

/** `agnhost crd-conversion-webhook`: converts custom resources at /crdconvert. Mirrors test/images/agnhost/crd-conversion-webhook. */
export async function crdConversionWebhook(self: Self, flags: Flags): Promise<number> {
  return serveTls(self, flags, async ({ request, path, answer }) => {
    if (path !== "/crdconvert") return answer(404, "404 page not found\n");
    const type = request.headers["content-type"] ?? "";
    if (type !== "application/json") return answer(400, `invalid Content-Type header \`${type}\`\n`);
    const review = convertReview(Buffer.from(await bodyOf(request), "latin1").toString());
    if (review === undefined) return answer(400, "failed to deserialize body\n");
    answer(200, `${JSON.stringify(review)}\n`, { "content-type": "application/json" });
  });
}

/** @returns the ConversionReview with its response; undefined for another text */
export function convertReview(text: string): Resource | undefined {
  let review: unknown;
  try {
    review = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(review) || review["kind"] !== "ConversionReview" || !isRecord(review["request"])) return undefined;
  const { apiVersion, kind } = review;
  if (!API_VERSIONS.has(String(apiVersion))) return undefined;
  const { uid, desiredAPIVersion, objects } = review["request"];
  const converted = (Array.isArray(objects) ? objects : []).map((one) => convert(one, String(desiredAPIVersion)));
  const problem = converted.find((one) => typeof one === "string");
  const request = { uid: "", desiredAPIVersion: "", objects: null };
  const result = { metadata: {}, status: problem === undefined ? "Success" : "Failure" };
  const response =
    problem === undefined
      ? { uid, convertedObjects: converted, result }
      : { uid, convertedObjects: null, result: { ...result, message: problem } };
  return { kind, apiVersion, request, response };
}

/** `hostPort` of v1 is `host` and `port` of v2. @returns the converted resource, or the problem */
function convert(resource: Resource, to: string): Resource | string {
  const { hostPort, host, port, ...rest } = resource;
  const from = String(resource["apiVersion"]);
  if (from === to) return `conversion from a version to itself should not call the webhook: ${to}`;
  if (from !== V1 && from !== V2) return `unexpected conversion version ${JSON.stringify(from)}`;
  if (to !== V1 && to !== V2) return `unexpected conversion version ${JSON.stringify(to)}`;
  if (from === V1) {
    if (hostPort === undefined) return { ...resource, apiVersion: to };
    const parts = String(hostPort).split(":");
    if (parts.length !== 2) return `invalid hostPort value \`${hostPort}\``;
    return { ...rest, host: parts[0], port: parts[1], apiVersion: to };
  }
  if (host === undefined && port === undefined) return { ...resource, apiVersion: to };
  return { ...rest, hostPort: `${host ?? ""}:${port ?? ""}`, apiVersion: to };
}
