import { baseName } from "../fs/paths.js";
import type { Program, Self } from "../process/process.js";
import { helpText, usageOf } from "../synopses.js";
import { cat } from "./bytes/cat.js";
import { tr } from "./bytes/tr.js";
import { fail, parseArgs, print, usage, warn } from "./console.js";
import { date } from "./date.js";
import { ls } from "./files/ls.js";
import { ln, mv } from "./files/move.js";
import { tail } from "./files/tail.js";
import { makeSpecial, mkdir, rm, rmdir, touch, truncate, unlink } from "./files.js";
import { brctl, ipcs, nnp, sysctl } from "./kernel.js";
import { df, free, mount, mountpoint, umount, uptime } from "./machine.js";
import { basename, dirname, mktemp, realpath } from "./names.js";
import { ifconfig, ip, netstat, route } from "./net/interfaces.js";
import { chmod, chown, stat } from "./owners.js";
import { kill, killall, pgrep, pidof } from "./processes/by-name.js";
import * as control from "./processes/control.js";
import { ps, top } from "./processes/list.js";
import { xargs } from "./processes/xargs.js";
import { seq } from "./seq.js";
import * as standIns from "./stand-ins.js";
import * as system from "./system.js";
import { echo, head, logger, tee, wc, yes } from "./text.js";

/** The shell and its dependencies are loaded when it first runs. */
const shell: Program = async (self) => (await import("../language/run.js")).runShell(self);
const utility: Program = async (self) => (await import("../language/utilities.js")).runUtility(self);
/** Builtins of the shell that also exist as programs: `test`, `printf`. */
const builtin: Program = async (self) => (await import("../language/as-program.js")).runBuiltinProgram(self);
const digest: Program = async (self) => (await import("./bytes/digest.js")).digest(self);
const gzip: Program = async (self) => (await import("./bytes/zip.js")).gzip(self);
const pager: Program = async (self) => (await import("./files/pager.js")).pager(self);
const clear: Program = async (self) => (await import("./stty.js")).clear(self);

/** Refuses options and operands that the program does not have. */
function checked(program: Program, spec: string, maxOperands: number): Program {
  return async (self) => {
    const { rest, unknown } = parseArgs(self.argv.slice(1), spec);
    return unknown !== undefined || rest.length > maxOperands ? usage(self, unknown) : program(self);
  };
}

/** `busybox [PROGRAM [ARG...]]`, `busybox --list`. */
const busybox: Program = async (self) => {
  const [name = "", ...args] = self.argv.slice(1);
  const names = [...APPLETS.keys()].sort();
  const list = names.map((one) => `${one}\n`).join("");
  if (name === "--list") return print(self, list).then(() => 0);
  if (name === "" || name === "--help") return print(self, helpText(names)).then(() => 0);
  const program = findProgram(APPLETS.get(name) ?? "");
  if (program !== undefined) {
    self.become([name, ...args]);
    return program({ ...self, argv: [name, ...args] });
  }
  await warn(self, `${name}: applet not found\n`);
  return 127;
};

const PROGRAMS: ReadonlyMap<string, Program> = new Map<string, Program>([
  ["busybox", busybox],
  ["sh", shell],
  ["utility", utility],
  ["builtin", builtin],
  ["nginx", async (self) => (await import("./web/nginx.js")).nginx(self)],
  ["httpd", async (self) => (await import("./web/httpd.js")).httpd(self)],
  ["php-apache", async (self) => (await import("./web/php-apache.js")).phpApache(self)],
  ["http-echo", async (self) => (await import("./agnhost/http-echo.js")).httpEcho(self)],
  ["etcd", standIns.etcd],
  ["busybox-httpd", async (self) => (await import("./web/busybox-httpd.js")).busyboxHttpd(self)],
  ["curl", async (self) => (await import("./net/curl.js")).curl(self)],
  ["wget", async (self) => (await import("./net/wget.js")).wget(self)],
  ["nc", async (self) => (await import("./net/nc.js")).netcat(self)],
  ["telnet", async (self) => (await import("./net/nc.js")).telnet(self)],
  ["nslookup", async (self) => (await import("./net/nslookup.js")).nslookup(self)],
  ["dig", async (self) => (await import("./net/dig.js")).dig(self)],
  ["getent", async (self) => (await import("./net/lookup-programs.js")).getent(self)],
  ["ping", async (self) => (await import("./net/lookup-programs.js")).ping(self)],
  ["stress", async (self) => (await import("./stress.js")).stress(self)],
  ["coredns", async (self) => (await import("./coredns.js")).coredns(self)],
  ["redis-server", async (self) => (await import("./redis/server.js")).redisServer(self)],
  ["redis-cli", async (self) => (await import("./redis/cli.js")).redisCli(self)],
  ["postgres", async (self) => (await import("./postgres.js")).postgres(self)],
  ["pg_isready", async (self) => (await import("./postgres.js")).pgIsReady(self)],
  ["perl", standIns.perl],
  ["component", standIns.component],
  ["app", standIns.app],
  ["repl", standIns.repl],
  ["kubectl", standIns.kubectl],
  ["agnhost", async (self) => (await import("./agnhost/agnhost.js")).agnhost(self)],
  ["nnp", nnp],
  ["entrypoint", system.entrypoint],
  ["gosu", system.gosu],
  ["pause", system.pause],
  ["true", async () => 0],
  ["false", async () => 1],
  ["echo", echo],
  ["cat", cat],
  ["head", head],
  ["tail", tail],
  ["yes", yes],
  ["tee", tee],
  ["tr", tr],
  ["xargs", xargs],
  ["vi", (self) => fail(self, "kubelab has no screen editor: use sed -i, or kubectl cp")],
  ["wc", wc],
  ["logger", logger],
  ["split", async (self) => (await import("./bytes/split.js")).split(self)],
  ["seq", seq],
  ["sleep", system.sleep],
  ["env", system.env],
  ["printenv", system.printenv],
  ["timeout", control.timeout],
  ["ls", ls],
  ["mkdir", mkdir],
  ["rmdir", rmdir],
  ["rm", rm],
  ["mv", mv],
  ["ln", ln],
  ["unlink", checked(unlink, "", 1)],
  ["truncate", truncate],
  ["mkfifo", makeSpecial],
  ["mknod", makeSpecial],
  ["sync", async () => 0],
  ["touch", touch],
  ["basename", basename],
  ["dirname", dirname],
  ["pwd", system.pwd],
  ["hostname", system.hostname],
  ["whoami", checked(system.whoami, "", 0)],
  ["id", system.id],
  ["groups", system.id],
  ["stat", stat],
  ["chmod", chmod],
  ["chown", chown],
  ["chgrp", chown],
  ["install", async (self) => (await import("./files/install.js")).install(self)],
  ["adduser", async (self) => (await import("./accounts.js")).adduser(self)],
  ["addgroup", async (self) => (await import("./accounts.js")).addgroup(self)],
  ["uname", checked(system.uname, "asnrvmpio", 0)],
  ["nproc", system.nproc],
  ["ps", ps],
  ["top", top],
  ["kill", kill],
  ["which", system.which],
  ["hexdump", async (self) => (await import("./bytes/dump.js")).hexdump(self)],
  ["od", async (self) => (await import("./bytes/dump.js")).od(self)],
  ["base64", async (self) => (await import("./bytes/base64.js")).base64(self)],
  ["cmp", async (self) => (await import("./bytes/cmp.js")).cmp(self)],
  ["gzip", gzip],
  ["gunzip", gzip],
  ["zcat", gzip],
  ...["md5sum", "sha1sum", "sha256sum", "sha512sum"].map((name): [string, Program] => [name, digest]),
  ["ip", ip],
  ["brctl", brctl],
  ["ipcs", ipcs],
  ["pgrep", pgrep],
  ["pkill", pgrep],
  ["mktemp", mktemp],
  ["realpath", realpath],
  ["mount", mount],
  ["umount", umount],
  ["mountpoint", mountpoint],
  ["df", df],
  ["free", free],
  ["uptime", checked(uptime, "", 0)],
  ["ifconfig", ifconfig],
  ["route", route],
  ["netstat", netstat],
  ["find", async (self) => (await import("./files/find.js")).find(self)],
  ["cp", async (self) => (await import("./files/cp.js")).cp(self)],
  ["less", pager],
  ["more", pager],
  ["watch", control.watch],
  ["diff", async (self) => (await import("./files/diff.js")).diff(self)],
  ["du", async (self) => (await import("./files/du.js")).du(self)],
  ["uniq", async (self) => (await import("./files/uniq.js")).uniq(self)],
  ["killall", killall],
  ["pidof", pidof],
  ["nohup", control.nohup],
  ["time", control.time],
  ["nice", control.nice],
  ["setsid", control.setsid],
  ["usleep", system.usleep],
  ["su", control.su],
  ["chroot", control.chroot],
  ["nsenter", control.nsenter],
  ["sysctl", sysctl],
  ["date", date],
  ["dd", async (self) => (await import("./bytes/dd.js")).dd(self)],
  ["tar", async (self) => (await import("./tar/tar.js")).tar(self)],
  ["stty", async (self) => (await import("./stty.js")).stty(self)],
  ["tty", checked(async (self) => (await import("./stty.js")).tty(self), "s", 9)],
  ["clear", checked(clear, "", 0)],
  ["reset", checked(clear, "", 0)],
]);

/** The program of an executable file in an image. `--help` alone prints the usage of a program of busybox. */
export function findProgram(name: string): Program | undefined {
  const program = PROGRAMS.get(name);
  if (program === undefined) return undefined;
  return (self) => (self.argv.length === 2 && self.argv[1] === "--help" ? help(self, program) : program(self));
}

async function help(self: Self, program: Program): Promise<number> {
  const known = usageOf(baseName(self.argv[0] ?? ""));
  if (known === undefined) return program(self);
  await warn(self, known.text);
  return 0;
}

/** Programs that no busybox has, or under another name. */
const OF_OTHER_IMAGES = new Set(
  "utility builtin nginx httpd php-apache http-echo etcd busybox-httpd curl dig stress coredns perl component app repl kubectl agnhost nnp pause entrypoint redis-server redis-cli postgres pg_isready gosu".split(
    " ",
  ),
);

/** The commands of a busybox and their programs: the /bin of images without a description. */
export const APPLETS: ReadonlyMap<string, string> = new Map([
  ...[...PROGRAMS.keys()].filter((name) => !OF_OTHER_IMAGES.has(name)).map((name): [string, string] => [name, name]),
  ["ash", "sh"],
  ["httpd", "busybox-httpd"],
  ["test", "builtin"],
  ["[", "builtin"],
  ["printf", "builtin"],
  ...["awk comm cut egrep expr fgrep fold grep nl paste", "readlink rev sed sort strings tac tree"]
    .join(" ")
    .split(" ")
    .map((name): [string, string] => [name, "utility"]),
]);
