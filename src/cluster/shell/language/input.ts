import { decodeText } from "../byte-text.js";
import { openForReading } from "../fs/open-file.js";
import { resolvePath } from "../fs/paths.js";
import { OutOfMemoryError } from "../process/memory-account.js";
import { terminalOf } from "../process/terminal.js";
import { readAll, readLine } from "../streams.js";
import type { Shell } from "./shell.js";
import { Leave, ShellError } from "./state.js";

/** `. FILE [ARG...]` */
export async function source(args: readonly string[], shell: Shell): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined) throw new ShellError("filename argument required");
  const path = resolvePath(shell.state.cwd, name);
  const text = await readAll(openForReading(shell.files, path, shell.random), shell.signal, shell.self);
  const { parameters } = shell.state;
  if (rest.length > 0) shell.state.parameters = rest;
  try {
    return await shell.runText(text.toString());
  } catch (error) {
    if (!(error instanceof Leave) || error.how !== "return") throw error;
    return error.count;
  } finally {
    shell.state.parameters = parameters;
  }
}

/** `read [-r] [-s] [-p PROMPT] [-t SECONDS] [NAME...]` */
export async function read(args: readonly string[], shell: Shell): Promise<number> {
  const names: string[] = [];
  let isRaw = false;
  let isSilent = false;
  let timeoutMs: number | undefined;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === "-r") isRaw = true;
    else if (arg === "-s") isSilent = true;
    else if (arg === "-p") await shell.print(args[++at] ?? "", 2);
    else if (arg === "-t") timeoutMs = Number(args[++at]) * 1000;
    else if (!arg.startsWith("-")) names.push(arg);
  }
  const over = new AbortController();
  const { clock } = shell.self.machine;
  if (timeoutMs !== undefined)
    void clock.sleep(timeoutMs, AbortSignal.any([over.signal, shell.signal])).then(
      () => over.abort(),
      () => {},
    );
  const terminal = isSilent ? terminalOf(shell.source(0)) : undefined;
  const modes = terminal?.modes;
  if (terminal !== undefined) terminal.modes = { ...terminal.modes, echoes: false };
  let failure: unknown;
  const line = readLine(shell.source(0), AbortSignal.any([over.signal, shell.signal]), shell.self).catch(
    (error: unknown) => {
      failure = error;
      return undefined;
    },
  );
  const signal = await shell.traps.orSignal(line);
  const bytes = signal === undefined ? await line : undefined;
  over.abort();
  if (terminal !== undefined && modes !== undefined) terminal.modes = modes;
  if (shell.signal.aborted) throw shell.signal.reason;
  if (failure instanceof OutOfMemoryError) throw failure;
  if (bytes === undefined) {
    for (const name of names) shell.state.set(name, "");
    return signal === undefined ? 1 : 128 + signal;
  }
  const text = decodeText(bytes);
  assignFields(isRaw ? text.replace(/\n$/, "") : text.replace(/\n$/, "").replace(/\\(.)/gs, "$1"), names, shell);
  return text.endsWith("\n") ? 0 : 1;
}

function assignFields(text: string, names: readonly string[], shell: Shell): void {
  const ifs = shell.state.get("IFS") ?? " \t\n";
  if (names.length === 0) {
    shell.state.set("REPLY", text);
    return;
  }
  const isSeparator = (char: string) => char !== "" && ifs.includes(char);
  const isSpace = (char: string) => isSeparator(char) && " \t\n".includes(char);
  let at = 0;
  names.forEach((name, index) => {
    while (isSpace(text.charAt(at))) at++;
    let end = at;
    if (index === names.length - 1) {
      end = text.length;
      while (end > at && isSpace(text.charAt(end - 1))) end--;
    } else while (end < text.length && !isSeparator(text.charAt(end))) end++;
    shell.state.set(name, text.slice(at, end));
    at = end + 1;
  });
}

/** `getopts SPEC NAME [ARG...]` */
export async function getopts(args: readonly string[], shell: Shell): Promise<number> {
  const [spec = "", variable = "", ...given] = args;
  const { state } = shell;
  const words = given.length > 0 ? given : state.parameters;
  let index = Number(state.get("OPTIND") ?? 1);
  let offset = Number(state.get("_OPTOFFSET") ?? 1);
  const word = words[index - 1];
  if (word === undefined || !/^-./.test(word) || word === "--") {
    state.set(variable, "?");
    if (word === "--") state.set("OPTIND", String(index + 1));
    return 1;
  }
  const letter = word.charAt(offset);
  const place = letter === ":" ? -1 : spec.indexOf(letter);
  offset++;
  if (place >= 0 && spec[place + 1] === ":") {
    const attached = word.slice(offset);
    if (attached === "") index++;
    state.set("OPTARG", attached === "" ? (words[index - 1] ?? "") : attached);
    offset = word.length;
  }
  if (offset >= word.length) {
    index++;
    offset = 1;
  }
  state.set("OPTIND", String(index));
  state.set("_OPTOFFSET", String(offset));
  state.set(variable, place < 0 ? "?" : letter);
  if (place < 0 && !spec.startsWith(":")) await shell.complain(`illegal option -${letter}`);
  return 0;
}
