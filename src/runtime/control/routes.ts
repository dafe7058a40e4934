import { parseSignal } from "../../shell/process/signals.js";
import { BadRequest } from "./bad-request.js";
import { FAULT_ROUTES } from "./fault-routes.js";
import { count, flag, text } from "./fields.js";
import { NONE, type Route, route } from "./route.js";
import { CONTAINER_FIELDS, POD_FIELDS } from "./seed-fields.js";

const SILENTLY = { silently: flag("without an event; default: false") } as const;

function isSignal(name: string): readonly string[] {
  return parseSignal(name) === undefined ? ["expected a name or number such as SIGTERM, KILL, 15"] : [];
}

const KILL = {
  exitCode: count("it ends by itself with this code", 0, 255),
  signal: text("its first process gets this signal, and may ignore it; default: SIGKILL", isSignal),
  oom: flag("the kernel's out-of-memory killer ends it: 137, OOMKilled; default: false"),
} as const;

/** What can be asked for: a GET changes nothing, a DELETE takes back what a POST has set. */
export const ROUTES: readonly Route[] = [
  route({
    method: "GET",
    path: "/",
    what: "this list",
    fields: NONE,
    run: () => guide(),
  }),
  route({
    method: "GET",
    path: "/state",
    what: "sandboxes, containers, images, and what has been set here",
    fields: NONE,
    run: ({ control }) => control.snapshot(),
  }),
  route({
    method: "GET",
    path: "/changes",
    what: "changes of state from now on, one JSON object a line",
    fields: NONE,
    run: ({ control, signal }) => control.changes(signal),
  }),
  route({
    method: "POST",
    path: "/pods",
    what: "add a pod and start its containers; when one cannot be, nothing is added",
    fields: POD_FIELDS,
    run: ({ control, fields }) => control.runPod({ containers: [], ...fields }),
  }),
  route({
    method: "POST",
    path: "/sandboxes/ID/containers",
    what: "add a container to a sandbox that is ready, and start it",
    fields: CONTAINER_FIELDS,
    run: ({ control, argument, fields }) => ({ containerId: control.runContainer(argument, fields) }),
  }),
  route({
    method: "POST",
    path: "/sandboxes/ID/not-ready",
    what: "let the sandbox's own process die",
    fields: NONE,
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
    what: "start a container that was created",
    fields: NONE,
    run: ({ control, argument }) => control.startContainer(argument),
  }),
  route({
    method: "POST",
    path: "/containers/ID/again",
    what: "start a new container in its place, the next attempt",
    fields: NONE,
    run: ({ control, argument }) => control.runAgain(argument),
  }),
  route({
    method: "POST",
    path: "/containers/ID/kill",
    what: "end a container that runs, by one of these (SIGKILL)",
    fields: KILL,
    run: ({ control, argument, fields }) => {
      const ways = [fields.exitCode, fields.signal, fields.oom === true ? true : undefined];
      if (ways.filter((way) => way !== undefined).length > 1)
        throw new BadRequest("exitCode, signal and oom exclude each other: a container ends in one way");
      return control.killContainer(argument, fields);
    },
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

/** What a person who looks for the first time wants to know. */
function guide(): unknown {
  return {
    about: "the embedded container runtime, changed behind its kubelet's back",
    fields: "in the body, as a JSON object, or in the query: curl -X POST HERE/containers/ID/kill?exitCode=3",
    ids: "may be shortened, as long as one thing only begins so",
    routes: ROUTES.map(({ method, path, what, fields }) => {
      const told = Object.entries(fields).map(([name, field]) => {
        const what = `${field.what}: ${field.expected}${field.isNeeded ? ", needed" : ""}`;
        return [name, what];
      });
      return { method, path, what, ...(told.length === 0 ? {} : { fields: Object.fromEntries(told) }) };
    }),
  };
}
