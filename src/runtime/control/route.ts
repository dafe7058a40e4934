import type { RuntimeControl } from "./control.js";
import { type Fields, readFields, type Values } from "./fields.js";

/** What a route works with. */
interface Asked<F extends Fields> {
  readonly control: RuntimeControl;
  /** what stands in the path for ID, RPC, TYPE */
  readonly argument: string;
  readonly fields: Values<F>;
  readonly signal: AbortSignal;
}

interface RouteOf<F extends Fields> {
  readonly method: "GET" | "POST" | "DELETE";
  /** `/containers/ID/kill`: a word in capitals stands for one that is chosen */
  readonly path: string;
  /** for people */
  readonly what: string;
  readonly fields: F;
  run(asked: Asked<F>): unknown;
}

/** What can be asked for. */
export interface Route extends Omit<RouteOf<Fields>, "run"> {
  readonly pattern: RegExp;
  /**
   * Reads the fields, all of them, before anything is done.
   * @returns the answer; an iterable is sent as lines while it lasts; undefined: it is done
   * @throws BadRequest, LabError, RpcError
   */
  run(asked: Omit<Asked<Fields>, "fields">, given: Readonly<Record<string, unknown>>): unknown;
}

/** Makes a route whose fields are read before it runs. */
export function route<F extends Fields>(one: RouteOf<F>): Route {
  const { method, path, what, fields } = one;
  const pattern = new RegExp(`^${path.replace(/[A-Z]+/, "([^/]+)")}$`);
  const run: Route["run"] = (asked, given) =>
    one.run({ ...asked, fields: readFields(fields, given, `${method} ${path}`) });
  return { method, path, what, fields, pattern, run };
}

/** Of routes that take none. */
export const NONE = {} as const;
