import { readBounded } from "../../staging/streaming/read-bounded.js";
import { isUpgradeRequest } from "../../staging/streaming/stream-options.js";
import type { Call } from "./call.js";

const METHODS = ["POST", "PUT", "PATCH"];
const TYPES = /^(application\/x-www-form-urlencoded|multipart\/form-data)\b/i;
const MAX_FORM_BYTES = 10 * 1024 * 1024;

/**
 * The fields of a form in the body, and after them the query. A body that is no form, or a broken one, adds nothing.
 *
 * Mirrors Request.FormValue of Go's net/http, with which go-restful and the kubelet read parameters.
 */
export async function formOf({ request, method, query }: Call): Promise<URLSearchParams> {
  const { "content-type": type = "" } = request.headers;
  if (!METHODS.includes(method) || !TYPES.test(type) || isUpgradeRequest(request.headers)) return query;
  const { bytes } = await readBounded(request, MAX_FORM_BYTES);
  try {
    const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
    const fields = [...form].filter((field): field is [string, string] => typeof field[1] === "string");
    return new URLSearchParams([...fields, ...query]);
  } catch {
    return query; // multipart without its boundary
  }
}
