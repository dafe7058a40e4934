import { Session } from "node:inspector";

interface RemoteObject {
  readonly type: string;
  readonly subtype?: string;
  readonly className?: string;
  readonly description?: string;
  readonly objectId?: string;
}

interface Property {
  readonly name: string;
  readonly value?: RemoteObject;
}

const MAX_DEPTH = 9;
/** What belongs to others: connections, clocks, and the trace, which only grow with what they are given. */
const NOT_OURS =
  /^(SwitchingClient|TracedClient|Trace|SystemClock|SystemRandom|Promise|AbortController|Date|RegExp|Error|Buffer|Uint8Array|Server|Socket|Grpc\w*|Http\w*|AsyncLocalStorage|(Async)?Generator|WeakMap|ArrayBuffer|URL)$/;

/**
 * How much is held below an object, also in private fields: by path, the size of each Map, Set and array, and the number of
 * abort listeners of each signal. What the debugger sees, so nothing has to be made public for it.
 */
export async function privateSizes(root: object): Promise<ReadonlyMap<string, number>> {
  const session = new Session();
  session.connect();
  const globals = globalThis as unknown as Record<string, unknown>;
  globals["__sizesRoot"] = root;
  globals["__sizesIds"] = new WeakMap();
  try {
    return walk(session);
  } finally {
    delete globals["__sizesRoot"];
    delete globals["__sizesIds"];
    session.disconnect();
  }
}

function walk(session: Session): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  const seen = new Set<number>();
  const { result } = post<{ result: RemoteObject }>(session, "Runtime.evaluate", { expression: "__sizesRoot" });
  const queue: { readonly object: RemoteObject; readonly path: string; readonly depth: number }[] = [
    { object: result, path: "", depth: 0 },
  ];
  for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
    const { object, path, depth } = item;
    const { objectId, subtype, className = "", description = "" } = object;
    if (object.type !== "object" || objectId === undefined || seen.has(identify(session, objectId, seen.size)))
      continue;
    seen.add(identify(session, objectId, seen.size));
    if (subtype === "map" || subtype === "set" || subtype === "array") {
      sizes.set(path, Number(/\((\d+)\)/.exec(description)?.[1] ?? 0));
      continue;
    }
    if (subtype !== undefined || NOT_OURS.test(className) || depth >= MAX_DEPTH) continue;
    for (const { name, value } of propertiesOf(session, objectId)) {
      if (value !== undefined) queue.push({ object: value, path: `${path}.${name}`, depth: depth + 1 });
    }
  }
  return sizes;
}

/** The same number for the same object. */
function identify(session: Session, objectId: string, next: number): number {
  const functionDeclaration =
    "function (next) { const known = __sizesIds.get(this); if (known !== undefined) return known; __sizesIds.set(this, next); return next; }";
  const params = { objectId, functionDeclaration, arguments: [{ value: next }], returnByValue: true };
  return post<{ result: { value: number } }>(session, "Runtime.callFunctionOn", params).result.value;
}

function propertiesOf(session: Session, objectId: string): readonly Property[] {
  const found = post<{ result: Property[]; privateProperties?: Property[] }>(session, "Runtime.getProperties", {
    objectId,
    ownProperties: true,
  });
  return [...found.result, ...(found.privateProperties ?? [])].filter(({ name }) => name !== "__proto__");
}

/** Within one thread the debugger answers at once. */
function post<T>(session: Session, method: string, params: object): T {
  let answer: T | undefined;
  session.post(method, params, (error, result) => {
    if (error !== null) throw new Error(`${method}: ${error.message}`);
    answer = result as T;
  });
  if (answer === undefined) throw new Error(`${method} was not answered`);
  return answer;
}
