import { resolvePath } from "../../fs/paths.js";
import { accountOf } from "../../process/accounts.js";
import { effectiveCapabilities } from "../../process/confinement.js";
import { exitCodeOf, type Machine, type Self } from "../../process/process.js";
import { isProcess } from "../../process/process-table.js";
import { parseSignal, SIGHUP, SIGKILL } from "../../process/signals.js";
import { terminalOf } from "../../process/terminal.js";
import { complain, fail, parseArgs, print, usage, warn } from "../console.js";
import { formatDate } from "../date.js";
import { parseDuration, runCommand, startChild } from "../system.js";

/** Programs that run other programs: limited, repeated, measured, or as another user. */

const cannotExecute = { named: (command: string) => `can't execute '${command}'` };

/** `timeout [-s SIGNAL] [-k SECONDS] SECONDS COMMAND [ARG...]` */
export async function timeout(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "+s:k:");
  const [seconds, ...argv] = rest;
  if (unknown !== undefined || seconds === undefined || argv.length === 0) return usage(self, unknown);
  const name = options.get("s") ?? "TERM";
  const signal = parseSignal(name);
  if (signal === undefined) return fail(self, `unknown signal '${name}'`);
  for (const text of [options.get("k") ?? "0", seconds])
    if (parseDuration(text) === undefined) return fail(self, `invalid number '${text}'`);
  const child = await startChild(self, argv, cannotExecute);
  if (typeof child === "number") return child;
  const timer = new AbortController();
  const after = async (text: string, number: number) => {
    await self.machine.clock.sleep(parseDuration(text) ?? 0, timer.signal);
    child.kill(number);
  };
  const kill = options.get("k");
  after(seconds, signal)
    .then(() => (kill === undefined ? undefined : after(kill, SIGKILL)))
    .catch(() => {}); // It ended in time.
  const code = exitCodeOf(await child.exited);
  timer.abort();
  return code;
}

/** `nohup PROGRAM [ARG...]`: ignores SIGHUP. Differs: output to a terminal stays there, and no nohup.out is written. */
export async function nohup(self: Self): Promise<number> {
  const words = self.argv.slice(1);
  if (words.length === 0) return usage(self);
  self.onSignal(SIGHUP, "ignore");
  if (terminalOf(self.stdout) !== undefined) await complain(self, "output stays on this terminal");
  return runCommand(self, words, self.env);
}

/** `watch [-n SECONDS] [-t] COMMAND [ARG...]`: repeats the command of a shell until it is ended. Mirrors busybox's procps/watch.c. */
export async function watch(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "+dtn:");
  if (unknown !== undefined || rest.length === 0) return usage(self, unknown);
  const seconds = Math.max(0.1, Number(options.get("n") ?? "2") || 0);
  const { machine, signal } = self;
  const width = terminalOf(self.stdout)?.size.width || 80;
  for (;;) {
    const when = formatDate(new Date(machine.clock.now()), "%Y-%m-%d %H:%M:%S");
    const room = Math.max(0, width - when.length - 1);
    const title = `Every ${seconds.toFixed(1)}s: ${rest.join(" ")}`.slice(0, room).padEnd(room);
    const head = options.has("t") ? "" : `${title}${when}\n\n`;
    await print(self, `\x1b[H\x1b[J${head}`);
    const child = await startChild(self, ["/bin/sh", "-c", rest.join(" ")]);
    if (typeof child !== "number") await child.exited;
    await machine.clock.sleep(seconds * 1000, signal);
  }
}

/** `time [-p] PROG ARGS`: Differs: the processor's time is that of the program alone, and none of it is the kernel's. */
export async function time(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "+p");
  if (unknown !== undefined || rest.length === 0) return usage(self, unknown);
  const { clock } = self.machine;
  const startMs = clock.now();
  const child = await startChild(self, rest, cannotExecute);
  const status = typeof child === "number" ? ({ kind: "exited", code: child } as const) : await child.exited;
  const code = exitCodeOf(status);
  if (status.kind === "signaled") await warn(self, `Command terminated by signal ${status.signal}\n`);
  else if (code !== 0) await warn(self, `Command exited with non-zero status ${code}\n`);
  const text = (seconds: number) =>
    options.has("p") ? seconds.toFixed(2) : `${Math.floor(seconds / 60)}m ${(seconds % 60).toFixed(2)}s`;
  const separator = options.has("p") ? " " : "\t";
  const lines = [
    `real${separator}${text((clock.now() - startMs) / 1000)}`,
    `user${separator}${text(typeof child === "number" ? 0 : child.cpuNs / 1e9)}`,
  ];
  await warn(self, `${lines.join("\n")}\nsys${separator}${text(0)}\n`);
  return code;
}

/** `nice [-n ADJUST] [PROG ARGS]`. Differs: the processor is shared between containers, so a priority changes nothing. */
export async function nice(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "+n:");
  if (unknown !== undefined) return usage(self, unknown);
  const adjustment = options.get("n");
  if (adjustment !== undefined && !/^-?\d+$/.test(adjustment)) return fail(self, `invalid number '${adjustment}'`);
  if (rest.length > 0) return runCommand(self, rest, self.env);
  if (adjustment !== undefined) return usage(self);
  await print(self, "0\n");
  return 0;
}

/** `setsid PROG ARGS`: in a process group of its own, without the terminal's signals. */
export async function setsid(self: Self): Promise<number> {
  const { rest, unknown } = parseArgs(self.argv.slice(1), "+c");
  if (unknown !== undefined || rest.length === 0) return usage(self, unknown);
  const child = await startChild(self, rest, { ...cannotExecute, group: "new" });
  return typeof child === "number" ? child : exitCodeOf(await child.exited);
}

/** `su [-lmp] [-s SHELL] [-] [USER [FILE ARGS | -c COMMAND [ARG0 ARGS]]]`. Mirrors busybox's loginutils/su.c. */
export async function su(self: Self): Promise<number> {
  const words = self.argv.slice(1).filter((word) => word !== "-");
  const { options, rest, unknown } = parseArgs(words, "lmps:c:");
  if (unknown !== undefined) return usage(self, unknown);
  const [name = "root", ...args] = rest;
  const { fs, user, confinement } = self.machine;
  const account = accountOf(fs, name);
  if (account === undefined || account.name !== name) return fail(self, `unknown user ${name}`);
  // Nobody has a password here, and only root needs none.
  if (user.uid !== 0) return fail(self, "incorrect password");
  const capabilities = effectiveCapabilities(user.uid, confinement);
  if (!capabilities.has("SETGID") || !capabilities.has("SETUID"))
    return fail(self, "can't set groups: Operation not permitted");
  const isLogin = options.has("l") || self.argv.includes("-");
  const keeps = (options.has("m") || options.has("p")) && !isLogin;
  const shell = options.get("s") ?? (keeps ? self.env["SHELL"] : account.shell) ?? "/bin/sh";
  const own = { HOME: account.home, SHELL: shell, USER: name, LOGNAME: name };
  const path = user.uid === 0 && account.uid === 0 ? "/sbin:/usr/sbin:/bin:/usr/bin" : "/bin:/usr/bin";
  const login = { TERM: self.env["TERM"] ?? "xterm", PATH: path, ...own };
  const env = isLogin ? login : keeps ? self.env : { ...self.env, ...own };
  const command = options.get("c");
  const argv = [shell, ...(command === undefined ? [] : ["-c", command]), ...args];
  const there = isLogin && fs.exists(account.home) ? { ...self, cwd: account.home } : self;
  return runCommand(there, argv, env, self.machine.asUser(account));
}

/** `chroot NEWROOT [PROG ARGS]`. Differs: only / itself and folders of mounts, such as the node's root. */
export async function chroot(self: Self): Promise<number> {
  const [root, ...given] = self.argv.slice(1);
  if (root === undefined || root.startsWith("-")) return usage(self);
  const { fs, user, confinement } = self.machine;
  const path = resolvePath(self.cwd, root);
  const cannot = (why: string) => fail(self, `can't change root directory to '${root}': ${why}`);
  if (!fs.exists(path)) return cannot("No such file or directory");
  if (fs.stat(path).type !== "directory") return cannot("Not a directory");
  if (!effectiveCapabilities(user.uid, confinement).has("SYS_CHROOT")) return cannot("Operation not permitted");
  const argv = given.length > 0 ? given : [self.env["SHELL"] ?? "/bin/sh", "-i"];
  if (fs.realpath(path) === "/") return runCommand({ ...self, cwd: "/" }, argv, self.env);
  const machine = self.machine.inRoot(path);
  if (machine !== undefined) return runCommand({ ...self, cwd: "/" }, argv, self.env, machine);
  const [program = ""] = argv;
  const folders = program.includes("/") ? [""] : (self.env["PATH"] ?? "").split(":");
  if (folders.some((folder) => fs.exists(`${path}/${folder}/${program}`)))
    return cannot("kubelab cannot run programs of another root");
  await complain(self, `can't execute '${program}': No such file or directory`);
  return 127;
}

const NAMESPACES: Readonly<Record<string, string>> = {
  m: "mnt",
  u: "uts",
  i: "ipc",
  n: "net",
  p: "pid",
  U: "user",
  C: "cgroup",
};

/** `nsenter -t PID [-amuinpUC] [PROG ARGS]`: the namespaces of another container. Differs: not those of the node, which runs no programs. */
export async function nsenter(self: Self): Promise<number> {
  const long = /^--(?:(mount|uts|ipc|net|pid|user|cgroup|all)|target=(\d+))$/;
  const letters: Readonly<Record<string, string>> = {
    mount: "m",
    uts: "u",
    ipc: "i",
    net: "n",
    pid: "p",
    user: "U",
    cgroup: "C",
    all: "a",
  };
  const words = self.argv.slice(1).map((word) => {
    const [, name, target] = long.exec(word) ?? [];
    return target !== undefined
      ? `-t${target}`
      : name !== undefined
        ? `-${letters[name]}`
        : word.replace(/^--target$/, "-t");
  });
  const { options, rest, unknown } = parseArgs(words, "+t:amuinpUCF");
  if (unknown !== undefined) return usage(self, unknown);
  const wanted = Object.keys(NAMESPACES).filter(
    (letter) => options.has(letter) || (options.has("a") && letter !== "U"),
  );
  const argv = rest.length > 0 ? rest : [self.env["SHELL"] ?? "/bin/sh"];
  if (wanted.length === 0) return runCommand(self, argv, self.env);
  const pid = options.get("t");
  if (pid === undefined) return fail(self, "specify a PID with -t");
  const { machine } = self;
  const task = machine.processes.find(Number(pid));
  const [first = ""] = wanted;
  if (task === undefined)
    return fail(self, `can't open '/proc/${pid}/ns/${NAMESPACES[first]}': No such file or directory`);
  if (!effectiveCapabilities(machine.user.uid, machine.confinement).has("SYS_ADMIN"))
    return fail(self, `reassociate to namespace 'ns/${NAMESPACES[first]}': Operation not permitted`);
  if (!isProcess(task))
    return fail(self, `kubelab runs no programs in the namespaces of process ${pid}, which is the node's`);
  const other = task.machine as Machine;
  const entered = wanted.includes("m") ? other : machine;
  const user = machine.user;
  const view = {
    ...entered.asUser(user),
    ...(wanted.includes("n") ? { network: other.network } : { network: machine.network }),
  };
  return runCommand({ ...self, cwd: wanted.includes("m") ? "/" : self.cwd }, argv, self.env, view);
}
