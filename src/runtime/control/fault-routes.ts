import { GRPC_CODES, type GrpcCode } from "../../cri/status.js";
import { nearest } from "../../util/nearest.js";
import { PULL_FAULTS } from "../images/pull.js";
import { BadRequest, suggestion } from "./bad-request.js";
import type { Fault } from "./faults.js";
import { count, flag, oneOf, shown, text, type Values } from "./fields.js";
import { NONE, type Route, route } from "./route.js";

const MAX_MS = 24 * 60 * 60 * 1000;
const MAX_COUNT = 1_000_000;
const FAILURES = GRPC_CODES.filter((code): code is Exclude<GrpcCode, "OK"> => code !== "OK");
const FAULT = {
  delayMs: count("calls wait so many ms first", 0, MAX_MS),
  hangs: flag("calls do not end until the fault is taken away; default: false"),
  code: oneOf("calls end with this gRPC code", FAILURES),
  message: text("what the error says, beside code; default: made to fail by hand"),
  count: count("how many calls it happens to; default: all", 1, MAX_COUNT),
} as const;

const PULLS = {
  ms: count("how long a pull takes", 0, MAX_MS),
  fail: oneOf("what the registry answers", PULL_FAULTS),
  image: text("of which images, by a part of the full name, beside fail; default: all"),
} as const;

const CONDITIONS = ["RuntimeReady", "NetworkReady"] as const;

/** What disturbs the runtime, and what takes that back. */
export const FAULT_ROUTES: readonly Route[] = [
  route({
    method: "POST",
    path: "/faults/RPC",
    what: "disturb a call, such as ListContainers, or * for all that have no fault of their own",
    fields: FAULT,
    run: ({ control, argument, fields }) => control.setFault(argument, faultOf(fields)),
  }),
  route({
    method: "DELETE",
    path: "/faults/RPC",
    what: "disturb it no more",
    fields: NONE,
    run: ({ control, argument }) => control.setFault(argument, undefined),
  }),
  route({
    method: "DELETE",
    path: "/faults",
    what: "disturb no call any more",
    fields: NONE,
    run: ({ control }) => control.clearFaults(),
  }),
  route({
    method: "POST",
    path: "/events/drop",
    what: "do not send container events",
    fields: { count: count("so many; default: all, until told otherwise", 1, MAX_COUNT) },
    run: ({ control, fields }) => control.dropEvents(fields.count ?? true),
  }),
  route({
    method: "DELETE",
    path: "/events/drop",
    what: "send container events again",
    fields: NONE,
    run: ({ control }) => control.dropEvents(false),
  }),
  route({
    method: "POST",
    path: "/events/break",
    what: "cut off all who listen to container events; they may come again",
    fields: NONE,
    run: ({ control }) => control.breakEventStreams(),
  }),
  route({
    method: "POST",
    path: "/conditions/TYPE",
    what: "make RuntimeReady or NetworkReady false",
    fields: { message: text("why; default: made so by hand") },
    run: ({ control, argument, fields }) =>
      control.setCondition(conditionOf(argument), fields.message ?? "made so by hand"),
  }),
  route({
    method: "DELETE",
    path: "/conditions/TYPE",
    what: "make it true again",
    fields: NONE,
    run: ({ control, argument }) => control.setCondition(conditionOf(argument), undefined),
  }),
  route({
    method: "POST",
    path: "/pulls",
    what: "make pulls of images slow, or fail",
    fields: PULLS,
    run: ({ control, fields: { ms, fail, image } }) => {
      if (ms === undefined && fail === undefined) throw nothingToDo("POST /pulls", "ms, fail");
      if (fail === undefined && image !== undefined)
        throw new BadRequest("image is for fail, which is missing", "fail");
      if (ms !== undefined) control.setPullTime(ms);
      if (fail !== undefined) control.setPullFault(image ?? "", fail);
    },
  }),
  route({
    method: "DELETE",
    path: "/pulls",
    what: "let pulls succeed again",
    fields: { image: text("of those images only; default: of all, and as fast as at the start") },
    run: ({ control, fields: { image } }) => {
      if (image === undefined) return control.resetPulls();
      const known = control.snapshot().pulls.faults.map((one) => one.image);
      if (known.includes(image)) return control.setPullFault(image, undefined);
      const like = suggestion(nearest(known, image));
      throw new BadRequest(
        `no pull is made to fail by image ${shown(image)}: ${like}there are ${known.join(", ") || "none"}`,
        "image",
        404,
      );
    },
  }),
];

function nothingToDo(whose: string, names: string): BadRequest {
  return new BadRequest(`${whose} was told nothing to do: expected at least one of ${names}`);
}

function faultOf({ delayMs, hangs, code, message, count: times }: Values<typeof FAULT>): Fault {
  if (delayMs === undefined && hangs !== true && code === undefined)
    throw nothingToDo("POST /faults/RPC", "delayMs, hangs, code");
  if (code === undefined && message !== undefined)
    throw new BadRequest("message is for code, which is missing", "code");
  if (code !== undefined && hangs === true)
    throw new BadRequest("hangs and code exclude each other: a call that does not end has no code");
  return {
    hangs: hangs === true,
    ...(delayMs === undefined ? {} : { delayMs }),
    ...(times === undefined ? {} : { count: times }),
    ...(code === undefined ? {} : { fail: { code, message: message ?? "made to fail by hand" } }),
  };
}

function conditionOf(word: string): (typeof CONDITIONS)[number] {
  const found = CONDITIONS.find((one) => one === word);
  if (found !== undefined) return found;
  const like = suggestion(nearest(CONDITIONS, word));
  throw new BadRequest(`there is no condition ${shown(word)}: ${like}expected ${CONDITIONS.join(" or ")}`);
}
