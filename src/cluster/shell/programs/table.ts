import type { Program } from "../process/process.js";
import { cat } from "./bytes/cat.js";
import { date } from "./date.js";
import { ls, mkdir, rm, rmdir, touch } from "./files.js";
import { brctl, ipcs, nnp, sysctl } from "./kernel.js";
import { df, free, mount, uptime } from "./machine.js";
import { basename, dirname, mktemp, realpath } from "./names.js";
import { ifconfig, ip, netstat, route } from "./net/interfaces.js";
import { chmod, chown, stat } from "./owners.js";
import { killall, nohup, pgrep, pidof } from "./processes.js";
import { seq } from "./seq.js";
import {
  app,
  component,
  entrypoint,
  env,
  fail,
  hostname,
  id,
  kill,
  nproc,
  pause,
  perl,
  printenv,
  ps,
  pwd,
  sleep,
  succeed,
  timeout,
  top,
  uname,
  which,
  whoami,
} from "./system.js";
import { echo, head, tail, tee, wc, yes } from "./text.js";
import { tr } from "./tr.js";

/** The shell and its dependencies are loaded when it first runs. */
const shell: Program = async (self) => (await import("../language/run.js")).runShell(self);
const utility: Program = async (self) => (await import("../language/utilities.js")).runUtility(self);
/** Builtins of the shell that also exist as programs: `test`, `printf`. */
const builtin: Program = async (self) => (await import("../language/as-program.js")).runBuiltinProgram(self);
const base64: Program = async (self) => (await import("./bytes/base64.js")).base64(self);
const cmp: Program = async (self) => (await import("./bytes/cmp.js")).cmp(self);
const dd: Program = async (self) => (await import("./bytes/dd.js")).dd(self);
const digest: Program = async (self) => (await import("./bytes/digest.js")).digest(self);
const gzip: Program = async (self) => (await import("./bytes/zip.js")).gzip(self);
const hexdump: Program = async (self) => (await import("./bytes/dump.js")).hexdump(self);
const od: Program = async (self) => (await import("./bytes/dump.js")).od(self);
const nginx: Program = async (self) => (await import("./nginx.js")).nginx(self);
const httpd: Program = async (self) => (await import("./httpd.js")).httpd(self);
const etcd: Program = async (self) => (await import("./etcd.js")).etcd(self);
const httpEcho: Program = async (self) => (await import("./http-echo.js")).httpEcho(self);
const curl: Program = async (self) => (await import("./net/curl.js")).curl(self);
const wget: Program = async (self) => (await import("./net/wget.js")).wget(self);
const nslookup: Program = async (self) => (await import("./net/nslookup.js")).nslookup(self);
const dig: Program = async (self) => (await import("./net/dig.js")).dig(self);
const getent: Program = async (self) => (await import("./net/lookup-programs.js")).getent(self);
const ping: Program = async (self) => (await import("./net/lookup-programs.js")).ping(self);
const netcat: Program = async (self) => (await import("./net/nc.js")).netcat(self);
const coredns: Program = async (self) => (await import("./coredns.js")).coredns(self);
const stress: Program = async (self) => (await import("./stress.js")).stress(self);

const agnhost: Program = async (self) => (await import("./agnhost/agnhost.js")).agnhost(self);
const tar: Program = async (self) => (await import("./tar/tar.js")).tar(self);
const stty: Program = async (self) => (await import("./stty.js")).stty(self);
const tty: Program = async (self) => (await import("./stty.js")).tty(self);
const clear: Program = async (self) => (await import("./stty.js")).clear(self);

const PROGRAMS: ReadonlyMap<string, Program> = new Map<string, Program>([
  ["sh", shell],
  ["utility", utility],
  ["builtin", builtin],
  ["nginx", nginx],
  ["httpd", httpd],
  ["http-echo", httpEcho],
  ["etcd", etcd],
  ["curl", curl],
  ["wget", wget],
  ["nc", netcat],
  ["nslookup", nslookup],
  ["dig", dig],
  ["getent", getent],
  ["ping", ping],
  ["stress", stress],
  ["coredns", coredns],
  ["perl", perl],
  ["component", component],
  ["app", app],
  ["agnhost", agnhost],
  ["nnp", nnp],
  ["entrypoint", entrypoint],
  ["pause", pause],
  ["true", succeed],
  ["false", fail],
  ["echo", echo],
  ["cat", cat],
  ["head", head],
  ["tail", tail],
  ["yes", yes],
  ["tee", tee],
  ["tr", tr],
  ["wc", wc],
  ["seq", seq],
  ["sleep", sleep],
  ["env", env],
  ["printenv", printenv],
  ["timeout", timeout],
  ["ls", ls],
  ["mkdir", mkdir],
  ["rmdir", rmdir],
  ["rm", rm],
  ["touch", touch],
  ["basename", basename],
  ["dirname", dirname],
  ["pwd", pwd],
  ["hostname", hostname],
  ["whoami", whoami],
  ["id", id],
  ["groups", id],
  ["stat", stat],
  ["chmod", chmod],
  ["chown", chown],
  ["chgrp", chown],
  ["uname", uname],
  ["nproc", nproc],
  ["ps", ps],
  ["top", top],
  ["kill", kill],
  ["which", which],
  ["hexdump", hexdump],
  ["od", od],
  ["base64", base64],
  ["cmp", cmp],
  ["gzip", gzip],
  ["gunzip", gzip],
  ["zcat", gzip],
  ...["md5sum", "sha1sum", "sha256sum", "sha512sum"].map((name): [string, Program] => [name, digest]),
  ["ip", ip],
  ["brctl", brctl],
  ["ipcs", ipcs],
  ["pgrep", pgrep],
  ["mktemp", mktemp],
  ["realpath", realpath],
  ["mount", mount],
  ["df", df],
  ["free", free],
  ["uptime", uptime],
  ["ifconfig", ifconfig],
  ["route", route],
  ["netstat", netstat],
  ["killall", killall],
  ["pidof", pidof],
  ["nohup", nohup],
  ["sysctl", sysctl],
  ["date", date],
  ["dd", dd],
  ["tar", tar],
  ["stty", stty],
  ["tty", tty],
  ["clear", clear],
  ["reset", clear],
]);

/** The program of an executable file in an image. */
export function findProgram(name: string): Program | undefined {
  return PROGRAMS.get(name);
}

/** The commands of a busybox and their programs: the /bin of images without a description. */
export const APPLETS: ReadonlyMap<string, string> = new Map([
  ...[...PROGRAMS.keys()]
    .filter(
      (name) =>
        ![
          "utility",
          "builtin",
          "nginx",
          "httpd",
          "http-echo",
          "etcd",
          "curl",
          "dig",
          "stress",
          "coredns",
          "perl",
          "component",
          "app",
          "agnhost",
          "nnp",
          "pause",
          "entrypoint",
        ].includes(name),
    )
    .map((name): [string, string] => [name, name]),
  ["ash", "sh"],
  ["test", "builtin"],
  ["[", "builtin"],
  ["printf", "builtin"],
  ...[
    "awk comm cp cut diff du egrep expr fgrep find fold grep ln mv nl paste",
    "readlink rev sed sort split strings tac tree uniq xargs",
  ]
    .join(" ")
    .split(" ")
    .map((name): [string, string] => [name, "utility"]),
]);
