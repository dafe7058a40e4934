/** The letters of options with values, by program. */
const VALUED: Readonly<Record<string, string>> = {
  __proto__: null as never,
  awk: "Fvf",
  comm: "",
  cut: "bcfd",
  fold: "w",
  grep: "efmABC",
  nl: "bdfhilnsvw",
  paste: "d",
  rev: "",
  sed: "ef",
  sort: "kotST",
  strings: "nt",
  tac: "",
};
/** Programs whose first operand is no file, unless one of these options has it. */
const SCRIPTED: Readonly<Record<string, RegExp>> = { __proto__: null as never, awk: /f/, grep: /[ef]/, sed: /[ef]/ };
const NEVER = new Set(["expr", "readlink", "tree"]);

/**
 * Whether a command reads its standard input. One with files does not, so that the next command of a loop can, and a
 * terminal or a pipe that stays open does not hold it up.
 */
export function readsInput(program: string, args: readonly string[]): boolean {
  if (NEVER.has(program)) return false;
  const name = /^[ef]grep$/.test(program) ? "grep" : program;
  const valued = VALUED[name];
  if (valued === undefined || args.some((arg) => /^-$|^-f-$|\/dev\/stdin|\/fd\/0$/.test(arg))) return true;
  const { letters, operands } = partsOf(args, valued);
  const script = SCRIPTED[name]?.test(letters) === false ? operands.shift() : undefined;
  if (name === "grep" && /[rR]/.test(letters)) return false;
  if (name !== "awk") return operands.length === 0;
  if (script?.includes("getline") === true) return true;
  return operands.every((one) => /^[A-Za-z_]\w*=/.test(one)) && !(script !== undefined && hasOnlyBegin(script));
}

function partsOf(args: readonly string[], valued: string): { readonly letters: string; readonly operands: string[] } {
  const operands: string[] = [];
  let letters = "";
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    if (arg === "--") return { letters, operands: [...operands, ...args.slice(at + 1)] };
    const long = /^--(expression|file)(=)?/.exec(arg);
    if (long !== null) {
      letters += long[1]?.[0] ?? "";
      if (long[2] === undefined) at++;
    } else if (!arg.startsWith("-")) operands.push(arg);
    else if (!arg.startsWith("--")) {
      const end = [...arg].findIndex((letter, index) => index > 0 && valued.includes(letter));
      letters += end < 0 ? arg.slice(1) : arg.slice(1, end + 1);
      if (end === arg.length - 1) at++;
    }
  }
  return { letters, operands };
}

/** Whether every rule of a program of awk is one of BEGIN: such a program ends before any input. */
function hasOnlyBegin(script: string): boolean {
  const code = script.replace(/"(?:[^"\\]|\\.)*"|#[^\n]*/g, "");
  let depth = 0;
  let pattern = "";
  for (const char of code) {
    if (char === "{" && depth++ === 0 && !/^[\s;]*(?:BEGIN|func(?:tion)?\s[^{]*)\s*$/.test(pattern)) return false;
    if (char === "}") depth--;
    if (depth === 0) pattern = char === "}" ? "" : pattern + char;
  }
  return pattern.trim() === "";
}
