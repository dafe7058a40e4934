import { z } from "zod";
import { defined } from "../../../util/defined.js";
import { GRPC_CODES, type GrpcCode } from "../../../util/net/grpc-codes.js";
import { nearest } from "../../../util/text/nearest.js";
import { PULL_FAULTS } from "../images/pull-fault.js";
import { BadRequest, shown, suggestion } from "./bad-request.js";
import type { Fault } from "./faults.js";
import { count } from "./fields.js";
import { NO_FIELDS, type Route, route } from "./route.js";

const MAX_MS = 24 * 60 * 60 * 1000;
const MAX_COUNT = 1_000_000;
const FAILURES = GRPC_CODES.filter((code): code is Exclude<GrpcCode, "OK"> => code !== "OK");
const FAULT = z.strictObject({
  delayMs: count(0, MAX_MS).describe("delay of each call, in ms").exactOptional(),
  hangs: z.boolean().describe("calls hang until the fault is removed; default: false").exactOptional(),
  code: z.enum(FAILURES).describe("calls fail with this gRPC code").exactOptional(),
  message: z.string().describe("the error's text, with code; default: made to fail by hand").exactOptional(),
  count: count(1, MAX_COUNT).describe("the number of calls to disturb; default: all").exactOptional(),
});

const PULLS = z.strictObject({
  ms: count(0, MAX_MS).describe("duration of a pull").exactOptional(),
  fail: z.enum(PULL_FAULTS).describe("the registry's answer").exactOptional(),
  image: z.string().describe("with fail: images whose full name contains this; default: all").exactOptional(),
});

const DROPS = z.strictObject({
  count: count(1, MAX_COUNT).describe("the number of events; default: all until DELETE").exactOptional(),
});

const CONDITION = z.strictObject({ message: z.string().describe("the reason; default: set by hand").exactOptional() });

const RESTORED_PULLS = z.strictObject({
  image: z.string().describe("only for these images; default: for all, at the original speed").exactOptional(),
});

const CONDITIONS = ["RuntimeReady", "NetworkReady"] as const;

/** Routes that inject faults into the runtime, and routes that remove them. */
export const FAULT_ROUTES: readonly Route[] = [
  route({
    method: "POST",
    path: "/faults/RPC",
    what: "disturb a call, such as ListContainers, or * for all calls without a fault of their own",
    fields: FAULT,
    run: ({ control, argument, fields }) => control.setFault(argument, faultOf(fields)),
  }),
  route({
    method: "DELETE",
    path: "/faults/RPC",
    what: "remove the fault of a call",
    fields: NO_FIELDS,
    run: ({ control, argument }) => control.setFault(argument, undefined),
  }),
  route({
    method: "DELETE",
    path: "/faults",
    what: "remove all faults",
    fields: NO_FIELDS,
    run: ({ control }) => control.clearFaults(),
  }),
  route({
    method: "POST",
    path: "/events/drop",
    what: "do not send container events",
    fields: DROPS,
    run: ({ control, fields }) => control.dropEvents(fields.count ?? true),
  }),
  route({
    method: "DELETE",
    path: "/events/drop",
    what: "send container events again",
    fields: NO_FIELDS,
    run: ({ control }) => control.dropEvents(false),
  }),
  route({
    method: "POST",
    path: "/events/break",
    what: "disconnect all listeners of container events; they can reconnect",
    fields: NO_FIELDS,
    run: ({ control }) => control.breakEventStreams(),
  }),
  route({
    method: "POST",
    path: "/conditions/TYPE",
    what: "make RuntimeReady or NetworkReady false",
    fields: CONDITION,
    run: ({ control, argument, fields }) =>
      control.setCondition(conditionOf(argument), fields.message ?? "set by hand"),
  }),
  route({
    method: "DELETE",
    path: "/conditions/TYPE",
    what: "make the condition true again",
    fields: NO_FIELDS,
    run: ({ control, argument }) => control.setCondition(conditionOf(argument), undefined),
  }),
  route({
    method: "POST",
    path: "/pulls",
    what: "make pulls of images slow, or fail",
    fields: PULLS,
    run: async ({ control, fields: { ms, fail, image } }) => {
      if (ms === undefined && fail === undefined) throw nothingToDo("POST /pulls", "ms, fail");
      if (fail === undefined && image !== undefined) throw new BadRequest("image needs fail, which is missing", "fail");
      if (ms !== undefined) await control.setPullTime(ms);
      if (fail !== undefined) await control.setPullFault(image ?? "", fail);
    },
  }),
  route({
    method: "DELETE",
    path: "/pulls",
    what: "let pulls succeed again",
    fields: RESTORED_PULLS,
    run: async ({ control, fields: { image } }) => {
      if (image === undefined) return control.resetPulls();
      const known = (await control.snapshot()).pulls.faults.map((one) => one.image);
      if (known.includes(image)) return control.setPullFault(image, undefined);
      const like = suggestion(nearest(known, image));
      throw new BadRequest(
        `there is no pull fault for image ${shown(image)}: ${like}expected ${known.join(" or ") || "no image"}`,
        "image",
        404,
      );
    },
  }),
];

function nothingToDo(whose: string, names: string): BadRequest {
  return new BadRequest(`${whose} has nothing to do: expected at least one of ${names}`);
}

function faultOf({ delayMs, hangs, code, message, count: times }: z.infer<typeof FAULT>): Fault {
  if (delayMs === undefined && hangs !== true && code === undefined)
    throw nothingToDo("POST /faults/RPC", "delayMs, hangs, code");
  if (code === undefined && message !== undefined) throw new BadRequest("message needs code, which is missing", "code");
  if (code !== undefined && hangs === true)
    throw new BadRequest("hangs and code exclude each other: a call that does not end has no code");
  return {
    hangs: hangs === true,
    ...defined({ delayMs, count: times }),
    ...(code === undefined ? {} : { fail: { code, message: message ?? "made to fail by hand" } }),
  };
}

function conditionOf(word: string): (typeof CONDITIONS)[number] {
  const found = CONDITIONS.find((one) => one === word);
  if (found !== undefined) return found;
  const like = suggestion(nearest(CONDITIONS, word));
  throw new BadRequest(`there is no condition ${shown(word)}: ${like}expected ${CONDITIONS.join(" or ")}`);
}
