import { z } from "zod";
import { parseSignal } from "../../shell/process/signals.js";
import { BadRequest } from "./bad-request.js";
import { FAULT_ROUTES } from "./fault-routes.js";
import { checked, count, describeField } from "./fields.js";
import { NO_FIELDS, type Route, route } from "./route.js";
import { CONTAINER_FIELDS, POD_FIELDS } from "./seed-fields.js";

const SILENTLY = z.strictObject({
  silently: z.boolean().describe("without an event; default: false").exactOptional(),
});

function isSignal(name: string): readonly string[] {
  return parseSignal(name) === undefined ? ["expected a name or number such as SIGTERM, KILL, 15"] : [];
}

const KILL = z.strictObject({
  exitCode: count(0, 255).describe("it exits by itself with this code").exactOptional(),
  signal: checked(isSignal)
    .describe("its first process gets this signal, which it can ignore; default: SIGKILL")
    .exactOptional(),
  oom: z
    .boolean()
    .describe("the kernel's out-of-memory killer ends it: 137, OOMKilled; default: false")
    .exactOptional(),
});

const MAX_BYTES = 2 ** 50;
const MAX_MILLI_CORES = 1_000_000;
const LEAK = z.strictObject({
  bytesPerSecond: count(0, MAX_BYTES).describe("how fast its first process takes memory; 0 keeps what it has"),
});
const BURN = z.strictObject({
  milliCores: count(0, MAX_MILLI_CORES).describe("CPU, up to the container's limit; 0 ends it"),
});
const FILL = z.strictObject({
  bytes: count(0, MAX_BYTES).describe("of the writable layer, besides its files; 0 gives them back"),
});

/** All routes. A GET changes nothing, a DELETE undoes a POST. */
export const ROUTES: readonly Route[] = [
  route({
    method: "GET",
    path: "/",
    what: "this list",
    fields: NO_FIELDS,
    run: () => guide(),
  }),
  route({
    method: "GET",
    path: "/state",
    what: "sandboxes, containers, images, and the current settings",
    fields: NO_FIELDS,
    run: ({ control }) => control.snapshot(),
  }),
  route({
    method: "GET",
    path: "/changes",
    what: "state changes from now on, one JSON object per line",
    fields: NO_FIELDS,
    run: ({ control, signal }) => control.changes(signal),
  }),
  route({
    method: "POST",
    path: "/pods",
    what: "add a pod and start its containers; adds nothing if one of them cannot start",
    fields: POD_FIELDS,
    run: ({ control, fields }) => control.runPod({ containers: [], ...fields }),
  }),
  route({
    method: "POST",
    path: "/sandboxes/ID/containers",
    what: "add a container to a ready sandbox, and start it",
    fields: CONTAINER_FIELDS,
    run: async ({ control, argument, fields }) => ({ containerId: await control.runContainer(argument, fields) }),
  }),
  route({
    method: "POST",
    path: "/sandboxes/ID/not-ready",
    what: "end the sandbox's own process",
    fields: NO_FIELDS,
    run: ({ control, argument }) => control.setSandboxNotReady(argument),
  }),
  route({
    method: "POST",
    path: "/sandboxes/ID/remove",
    what: "remove a sandbox with its containers",
    fields: SILENTLY,
    run: ({ control, argument, fields }) => control.removeSandbox(argument, fields.silently),
  }),
  route({
    method: "POST",
    path: "/containers/ID/start",
    what: "start a created container",
    fields: NO_FIELDS,
    run: ({ control, argument }) => control.startContainer(argument),
  }),
  route({
    method: "POST",
    path: "/containers/ID/again",
    what: "start a new container in its place, as the next attempt",
    fields: NO_FIELDS,
    run: ({ control, argument }) => control.runAgain(argument),
  }),
  route({
    method: "POST",
    path: "/containers/ID/kill",
    what: "end a running container, in one of these ways (default: SIGKILL)",
    fields: KILL,
    run: ({ control, argument, fields }) => {
      const ways = [fields.exitCode !== undefined, fields.signal !== undefined, fields.oom === true];
      if (ways.filter(Boolean).length > 1)
        throw new BadRequest("exitCode, signal and oom exclude each other: a container ends in one way");
      return control.killContainer(argument, fields);
    },
  }),
  route({
    method: "POST",
    path: "/containers/ID/leak",
    what: "let a running container take memory, until its limit kills it",
    fields: LEAK,
    run: ({ control, argument, fields }) =>
      control.loadContainer(argument, { leakBytesPerSecond: fields.bytesPerSecond }),
  }),
  route({
    method: "POST",
    path: "/containers/ID/burn",
    what: "let a running container use CPU time",
    fields: BURN,
    run: ({ control, argument, fields }) => control.loadContainer(argument, { burnMilliCores: fields.milliCores }),
  }),
  route({
    method: "POST",
    path: "/containers/ID/fill",
    what: "let a running container use the disk",
    fields: FILL,
    run: ({ control, argument, fields }) => control.loadContainer(argument, { fillBytes: fields.bytes }),
  }),
  route({
    method: "POST",
    path: "/containers/ID/remove",
    what: "remove a container, running or not",
    fields: SILENTLY,
    run: ({ control, argument, fields }) => control.removeContainer(argument, fields.silently),
  }),
  ...FAULT_ROUTES,
];

/** The answer to `GET /`: an overview for people. */
function guide(): unknown {
  return {
    about: "the embedded container runtime; changes made here are not announced to the kubelet",
    fields: "in the body, as a JSON object, or in the query: curl -X POST HERE/containers/ID/kill?exitCode=3",
    ids: "can be shortened to any unique prefix",
    routes: ROUTES.map(({ method, path, what, fields }) => {
      const described = Object.entries(fields.shape).map(([name, field]) => [name, describeField(field)]);
      return { method, path, what, ...(described.length === 0 ? {} : { fields: Object.fromEntries(described) }) };
    }),
  };
}
