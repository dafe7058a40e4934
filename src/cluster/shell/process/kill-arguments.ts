import { parseSignal, SIGTERM, signalList, signalName } from "./signals.js";

/** The arguments of `kill` and its relatives: `-9 1 2`, `-s TERM 1`, `-l 9`. Mirrors busybox's procps/kill.c. */
export function killArguments(args: readonly string[]): {
  /** undefined: the signal is unknown */
  readonly signal: number | undefined;
  /** the problem, or the answer to -l */
  readonly problem?: string;
  readonly list?: string;
  readonly rest: readonly string[];
} {
  const [first = "", ...others] = args;
  if (first === "-l") return listArguments(others);
  if (!/^-[A-Za-z0-9]/.test(first)) return { signal: SIGTERM, rest: args };
  const isSeparate = first === "-s" && others.length > 0;
  const name = isSeparate ? (others[0] ?? "") : first.slice(1);
  const rest = others.slice(isSeparate ? 1 : 0);
  const signal = name === "0" ? 0 : parseSignal(name);
  return signal === undefined ? { signal, rest, problem: `bad signal name '${name}'` } : { signal, rest };
}

function listArguments(wanted: readonly string[]): ReturnType<typeof killArguments> {
  if (wanted.length === 0) return { signal: 0, list: signalList(), rest: [] };
  const wrong = wanted.find((one) => parseSignal(one) === undefined);
  if (wrong !== undefined) return { signal: undefined, problem: `unknown signal '${wrong}'`, rest: [] };
  const lines = wanted.map((one) => (/^\d+$/.test(one) ? signalName(Number(one)).slice(3) : parseSignal(one)));
  return { signal: 0, list: `${lines.join("\n")}\n`, rest: [] };
}
