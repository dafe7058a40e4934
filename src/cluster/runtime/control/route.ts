import { z } from "zod";
import type { RemoteControl } from "./control.js";
import { readFields } from "./fields.js";

/** The dependencies of a route. */
interface Call {
  readonly control: RemoteControl;
  /** the path's ID, RPC or TYPE */
  readonly argument: string;
  readonly signal: AbortSignal;
}

interface RouteOf<S extends z.ZodObject> {
  readonly method: "GET" | "POST" | "DELETE";
  /** `/containers/ID/kill`: a word in capitals is an argument */
  readonly path: string;
  /** what the route does, for people */
  readonly what: string;
  readonly fields: S;
  run(call: Call & { readonly fields: z.infer<S> }): unknown;
}

/** A route of the control API. */
export interface Route extends Omit<RouteOf<z.ZodObject>, "run"> {
  readonly pattern: RegExp;
  /**
   * Checks all fields, then runs.
   * @returns the answer; an iterable is sent line by line; undefined means done
   * @throws BadRequest, LabError, RpcError
   */
  run(call: Call, given: Readonly<Record<string, unknown>>): unknown;
}

/** Makes a route that checks its fields before it runs. */
export function route<S extends z.ZodObject>(one: RouteOf<S>): Route {
  const { method, path, what, fields } = one;
  const pattern = new RegExp(`^${path.replace(/[A-Z]+/, "([^/]+)")}$`);
  const run: Route["run"] = (call, given) =>
    one.run({ ...call, fields: readFields(fields, given, `${method} ${path}`) });
  return { method, path, what, fields, pattern, run };
}

/** For routes without fields. */
export const NO_FIELDS = z.strictObject({});
