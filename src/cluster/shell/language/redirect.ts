import { encodeText } from "../byte-text.js";
import { errorText } from "../fs/fs-error.js";
import { openForReading, openForWriting } from "../fs/open-file.js";
import { resolvePath } from "../fs/paths.js";
import { descriptorAt, streamOfProcess } from "../process/descriptors.js";
import { BytesSource } from "../streams.js";
import { type ExpansionHost, expandText } from "./expansion/expand.js";
import { type Descriptor, ShellError } from "./state.js";
import type { RedirectionNode } from "./syntax/ast.js";

/**
 * Opens the targets of a command's redirections, in the order written.
 * @returns a function that restores the shell's own descriptors
 * @throws ShellError if a file cannot be opened
 */
export async function redirect(redirections: readonly RedirectionNode[], host: ExpansionHost): Promise<() => void> {
  if (redirections.length === 0) return () => {};
  const { descriptors } = host.state;
  const before = new Map(descriptors);
  const restore = () => {
    descriptors.clear();
    for (const [fd, descriptor] of before) descriptors.set(fd, descriptor);
  };
  try {
    for (const redirection of redirections) await apply(redirection, host);
  } catch (error) {
    restore();
    throw error;
  }
  return restore;
}

/** RLIMIT_NOFILE of a container, as most machines have it. */
const MAX_DESCRIPTORS = 1024;

async function apply(redirection: RedirectionNode, host: ExpansionHost): Promise<void> {
  const { descriptors } = host.state;
  if ((redirection.fd ?? 0) >= MAX_DESCRIPTORS) throw new ShellError(`${redirection.fd}: Bad file descriptor`, 2);
  const { operator, target } = redirection;
  if (target.type === "HereDoc") {
    const text = await expandText(target.content, host);
    const shown = target.stripTabs ? text.replace(/^\t+/gm, "") : text;
    descriptors.set(redirection.fd ?? 0, { source: new BytesSource(encodeText(shown)) });
    return;
  }
  const word = await expandText(target, host);
  switch (operator) {
    case "<<<":
      descriptors.set(redirection.fd ?? 0, { source: new BytesSource(encodeText(`${word}\n`)) });
      return;
    case "<&":
    case ">&":
      return duplicate(redirection.fd ?? (operator === "<&" ? 0 : 1), word, host);
    case "<":
      descriptors.set(redirection.fd ?? 0, open(word, "read", host));
      return;
    case "<>":
      descriptors.set(redirection.fd ?? 0, { ...open(word, "append", host), ...open(word, "read", host) });
      return;
    default: {
      const file = open(word, operator.endsWith(">>") ? "append" : "write", host);
      descriptors.set(redirection.fd ?? 1, file);
      if (operator.startsWith("&")) descriptors.set(2, file);
    }
  }
}

function duplicate(fd: number, word: string, host: ExpansionHost): void {
  const { descriptors } = host.state;
  if (word === "-") {
    descriptors.delete(fd);
    return;
  }
  if (!/^\d+-?$/.test(word)) {
    // `>& file` is `> file 2>&1`.
    const file = open(word, "write", host);
    descriptors.set(1, file);
    descriptors.set(2, file);
    return;
  }
  const other = descriptors.get(Number.parseInt(word, 10));
  if (other === undefined) throw new ShellError(`${word}: bad file descriptor`, 1);
  descriptors.set(fd, other);
  if (word.endsWith("-")) descriptors.delete(Number.parseInt(word, 10));
}

function open(name: string, how: "read" | "write" | "append", host: ExpansionHost): Descriptor {
  const path = resolvePath(host.state.cwd, name);
  if (path === "/dev/tty") return openTerminal(name, how, host);
  const named = descriptorAt(host.files, path);
  if (named !== undefined) {
    const own = named.pid === undefined ? host.state.descriptors.get(named.fd) : undefined;
    const existing = own ?? streamOfProcess(named, host.processes);
    if ((how === "read" ? existing.source : existing.sink) !== undefined) return existing;
  }
  try {
    if (how === "read") return { source: openForReading(host.files, path, host.random) };
    return { sink: openForWriting(host.files, path, { append: how === "append", umask: host.state.umask }) };
  } catch (error) {
    throw new ShellError(`can't ${how === "read" ? "open" : "create"} ${name}: ${errorText(error)}`, 1);
  }
}

/** The shell's controlling terminal, even if its input and output are redirected. */
function openTerminal(name: string, how: "read" | "write" | "append", { terminal }: ExpansionHost): Descriptor {
  const verb = how === "read" ? "open" : "create";
  if (terminal === undefined) throw new ShellError(`can't ${verb} ${name}: No such device or address`, 1);
  return how === "read" ? { source: terminal.source } : { sink: terminal.sink };
}
