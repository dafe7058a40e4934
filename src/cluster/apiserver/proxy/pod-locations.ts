import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { badRequest } from "../../../staging/apimachinery/errors.js";
import { isTrue } from "../endpoints/request-info.js";
import { numberOf } from "../registry/core/pods/streams.js";
import { encodeQuery } from "./go-url.js";

/**
 * The kubelet paths of streaming API requests. Pure.
 *
 * Mirrors pkg/registry/core/pod/strategy.go (LogLocation, streamParams, streamLocation, PortForwardLocation).
 */

type Pair = readonly [name: string, value: string];

/** `stdin=true` becomes `input=1`. */
const STREAM_PARAMETERS = [
  ["stdin", "input"],
  ["stdout", "output"],
  ["stderr", "error"],
  ["tty", "tty"],
] as const;

/** `/exec/<namespace>/<pod>/<container>?command=...&input=1&output=1` */
export function streamPath(
  verb: "exec" | "attach",
  pod: KubeObject,
  container: string,
  query: URLSearchParams,
): string {
  const parameters: Pair[] = STREAM_PARAMETERS.flatMap(([ours, theirs]): Pair[] =>
    isTrue(query, ours) ? [[theirs, "1"]] : [],
  );
  if (verb === "exec") parameters.push(...query.getAll("command").map((one): Pair => ["command", one]));
  return `/${verb}/${podPath(pod)}/${container}${encodeQuery(parameters)}`;
}

const MAX_PORT = 65_535;

/**
 * `/portForward/<namespace>/<pod>?port=80,443`: only WebSocket clients name ports here.
 * Mirrors k8s.io/apimachinery/pkg/apis/meta/v1/conversion.go (Convert_Slice_string_To_Slice_int32). @throws StatusError 400
 */
export function portForwardPath(pod: KubeObject, query: URLSearchParams): string {
  const ports = query.getAll("ports").flatMap((one) => one.split(","));
  for (const port of ports) {
    const problem = !/^\d+$/.test(port) ? "invalid syntax" : Number(port) > MAX_PORT ? "value out of range" : undefined;
    if (problem === undefined) continue;
    throw badRequest(`cannot convert to []int32: strconv.ParseUint: parsing ${JSON.stringify(port)}: ${problem}`);
  }
  const list = ports.map((port) => String(Number(port))).join(",");
  return `/portForward/${podPath(pod)}${encodeQuery(list === "" ? [] : [["port", list]])}`;
}

/** `/containerLogs/<namespace>/<pod>/<container>?follow=true&tailLines=10` @throws StatusError 400 */
export function logPath(pod: KubeObject, container: string, query: URLSearchParams): string {
  const parameters: Pair[] = [];
  for (const name of ["follow", "previous", "timestamps"]) if (isTrue(query, name)) parameters.push([name, "true"]);
  for (const name of ["sinceSeconds", "tailLines", "limitBytes"]) {
    const value = numberOf(query, name);
    if (value !== undefined) parameters.push([name, String(value)]);
  }
  const sinceTime = query.get("sinceTime") ?? "";
  if (sinceTime !== "") parameters.push(["sinceTime", timeOf(sinceTime)]);
  return `/containerLogs/${podPath(pod)}/${container}${encodeQuery(parameters)}`;
}

function podPath({ metadata: { namespace = "", name = "" } }: KubeObject): string {
  return `${namespace}/${name}`;
}

/** RFC 3339 in whole seconds, like a metav1.Time. */
function timeOf(text: string): string {
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text);
  const ms = isTime ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) {
    throw badRequest(`parsing time ${JSON.stringify(text)} as "2006-01-02T15:04:05Z07:00": cannot parse it`);
  }
  return new Date(Math.floor(ms / 1000) * 1000).toISOString().replace(".000Z", "Z");
}
