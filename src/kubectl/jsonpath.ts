import { MessageError } from "../i18n/message-error.js";

/**
 * A part of kubectl's JSONPath: text, `{.a.b}`, `{.a[0]}`, `{.a[*].b}`, `{.a[?(@.type=="Ready")].status}`, `{.a['b.c']}`, `{"\n"}`,
 * `{range .items[*]}...{end}`.
 *
 * Mirrors k8s.io/client-go/util/jsonpath (Execute). Differs: no recursive descent, no unions, no slices.
 * @throws LabError USAGE for a template that cannot be read
 */
export function executeJsonPath(template: string, root: unknown): string {
  const parts = [...template.matchAll(/\{((?:"[^"]*"|'[^']*'|[^{}"'])*)\}|([^{}]+)/g)];
  if (parts.map(([whole]) => whole).join("") !== template) throw unreadable(template);
  let at = 0;
  const run = (current: unknown, isSkipped: boolean): string => {
    let out = "";
    for (; at < parts.length; at++) {
      const [, inside, plain] = parts[at] ?? [];
      if (inside === undefined) out += plain ?? "";
      else if (inside.trim() === "end") return isSkipped ? "" : out;
      else if (inside.startsWith("range")) {
        const from = ++at;
        const values = isSkipped ? [] : valuesOf(inside.slice("range".length).trim(), root, current);
        if (values.length === 0) run(current, true);
        for (const value of values) {
          at = from;
          out += run(value, false);
        }
      } else if (/^["']/.test(inside)) out += JSON.parse(`"${inside.slice(1, -1).replaceAll('"', '\\"')}"`) as string;
      else if (!isSkipped) out += valuesOf(inside.trim(), root, current).map(printed).join(" ");
    }
    return isSkipped ? "" : out;
  };
  return run(root, false);
}

const STEP =
  /\.?([\w-]+(?:\\\.[\w-]+)*)|\[(-?\d+)\]|\[\*\]|\.\*|\['([^']+)'\]|\[\?\(@\.([\w.]+)\s*==\s*["']?([^"')]*)["']?\)\]/;

function valuesOf(path: string, root: unknown, current: unknown): unknown[] {
  const isRooted = path.startsWith("$");
  const rest = path.replace(/^[$@]/, "");
  let values: unknown[] = [isRooted ? root : current];
  // A separate expression, because this one is in use for the outer template.
  const step = new RegExp(STEP.source, "y");
  if (rest === "" || rest === ".") return values;
  while (step.lastIndex < rest.length) {
    const match = step.exec(rest);
    if (match === null) throw unreadable(path);
    const [whole, key, index, quoted, field, wanted] = match;
    values = values.flatMap((value): unknown[] => {
      if (key !== undefined || quoted !== undefined) return member(value, quoted ?? key?.replaceAll("\\.", ".") ?? "");
      if (index !== undefined) return Array.isArray(value) ? one(value.at(Number(index))) : [];
      if (field !== undefined)
        return listed(value).filter((item) => String(valuesOf(`.${field}`, root, item)[0]) === wanted);
      return whole === "[*]" || whole === ".*" ? listed(value) : [];
    });
  }
  return values;
}

const one = (value: unknown): unknown[] => (value === undefined || value === null ? [] : [value]);
const listed = (value: unknown): unknown[] =>
  Array.isArray(value) ? value : typeof value === "object" && value !== null ? Object.values(value) : [];
const member = (value: unknown, key: string): unknown[] =>
  typeof value === "object" && value !== null ? one((value as Record<string, unknown>)[key]) : [];
const printed = (value: unknown): string => (typeof value === "object" ? JSON.stringify(value) : String(value));

function unreadable(template: string): MessageError {
  return new MessageError(
    "USAGE",
    ["jsonPathUnreadable", { template }],
    ["jsonPathHint", { known: '{.a.b}, [0], [*], [?(@.x=="y")], range, end' }],
  );
}
