import type { Program } from "../process/process.js";
import { cat } from "./bytes/cat.js";
import { usage } from "./console.js";
import { date } from "./date.js";
import { ls, mkdir, rm, rmdir, touch } from "./files.js";
import { brctl, ipcs, nnp, sysctl } from "./kernel.js";
import { df, free, mount, uptime } from "./machine.js";
import { basename, dirname, mktemp, realpath } from "./names.js";
import { ifconfig, ip, netstat, route } from "./net/interfaces.js";
import { chmod, chown, stat } from "./owners.js";
import { killall, nohup, pgrep, pidof } from "./processes.js";
import { seq } from "./seq.js";
import * as standIns from "./stand-ins.js";
import * as system from "./system.js";
import { echo, head, tail, tee, wc, yes } from "./text.js";
import { tr } from "./tr.js";
import { xargs } from "./xargs.js";

/** The shell and its dependencies are loaded when it first runs. */
const shell: Program = async (self) => (await import("../language/run.js")).runShell(self);
const utility: Program = async (self) => (await import("../language/utilities.js")).runUtility(self);
/** Builtins of the shell that also exist as programs: `test`, `printf`. */
const builtin: Program = async (self) => (await import("../language/as-program.js")).runBuiltinProgram(self);
const digest: Program = async (self) => (await import("./bytes/digest.js")).digest(self);
const gzip: Program = async (self) => (await import("./bytes/zip.js")).gzip(self);
const pager: Program = async (self) => (await import("./files/pager.js")).pager(self);
const clear: Program = async (self) => (await import("./stty.js")).clear(self);

const PROGRAMS: ReadonlyMap<string, Program> = new Map<string, Program>([
  ["sh", shell],
  ["utility", utility],
  ["builtin", builtin],
  ["nginx", async (self) => (await import("./web/nginx.js")).nginx(self)],
  ["httpd", async (self) => (await import("./web/httpd.js")).httpd(self)],
  ["http-echo", async (self) => (await import("./agnhost/http-echo.js")).httpEcho(self)],
  ["etcd", standIns.etcd],
  ["busybox-httpd", async (self) => (await import("./web/busybox-httpd.js")).busyboxHttpd(self)],
  ["curl", async (self) => (await import("./net/curl.js")).curl(self)],
  ["wget", async (self) => (await import("./net/wget.js")).wget(self)],
  ["nc", async (self) => (await import("./net/nc.js")).netcat(self)],
  ["nslookup", async (self) => (await import("./net/nslookup.js")).nslookup(self)],
  ["dig", async (self) => (await import("./net/dig.js")).dig(self)],
  ["getent", async (self) => (await import("./net/lookup-programs.js")).getent(self)],
  ["ping", async (self) => (await import("./net/lookup-programs.js")).ping(self)],
  ["stress", async (self) => (await import("./stress.js")).stress(self)],
  ["coredns", async (self) => (await import("./coredns.js")).coredns(self)],
  ["redis-server", async (self) => (await import("./redis/server.js")).redisServer(self)],
  ["redis-cli", async (self) => (await import("./redis/cli.js")).redisCli(self)],
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
  ["true", system.succeed],
  ["false", system.fail],
  ["echo", echo],
  ["cat", cat],
  ["head", head],
  ["tail", tail],
  ["yes", yes],
  ["tee", tee],
  ["tr", tr],
  ["xargs", xargs],
  ["vi", (self) => usage(self, "kubelab has no screen editor: use sed -i, or kubectl cp")],
  ["wc", wc],
  ["seq", seq],
  ["sleep", system.sleep],
  ["env", system.env],
  ["printenv", system.printenv],
  ["timeout", system.timeout],
  ["ls", ls],
  ["mkdir", mkdir],
  ["rmdir", rmdir],
  ["rm", rm],
  ["touch", touch],
  ["basename", basename],
  ["dirname", dirname],
  ["pwd", system.pwd],
  ["hostname", system.hostname],
  ["whoami", system.whoami],
  ["id", system.id],
  ["groups", system.id],
  ["stat", stat],
  ["chmod", chmod],
  ["chown", chown],
  ["chgrp", chown],
  ["uname", system.uname],
  ["nproc", system.nproc],
  ["ps", system.ps],
  ["top", system.top],
  ["kill", system.kill],
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
  ["mktemp", mktemp],
  ["realpath", realpath],
  ["mount", mount],
  ["df", df],
  ["free", free],
  ["uptime", uptime],
  ["ifconfig", ifconfig],
  ["route", route],
  ["netstat", netstat],
  ["find", async (self) => (await import("./files/find.js")).find(self)],
  ["cp", async (self) => (await import("./files/cp.js")).cp(self)],
  ["less", pager],
  ["more", pager],
  ["watch", system.watch],
  ["diff", async (self) => (await import("./files/diff.js")).diff(self)],
  ["du", async (self) => (await import("./files/du.js")).du(self)],
  ["uniq", async (self) => (await import("./files/uniq.js")).uniq(self)],
  ["killall", killall],
  ["pidof", pidof],
  ["nohup", nohup],
  ["sysctl", sysctl],
  ["date", date],
  ["dd", async (self) => (await import("./bytes/dd.js")).dd(self)],
  ["tar", async (self) => (await import("./tar/tar.js")).tar(self)],
  ["stty", async (self) => (await import("./stty.js")).stty(self)],
  ["tty", async (self) => (await import("./stty.js")).tty(self)],
  ["clear", clear],
  ["reset", clear],
]);

/** The program of an executable file in an image. */
export function findProgram(name: string): Program | undefined {
  return PROGRAMS.get(name);
}

/** Programs that no busybox has, or under another name. */
const OF_OTHER_IMAGES = new Set(
  "utility builtin nginx httpd http-echo etcd busybox-httpd curl dig stress coredns perl component app repl kubectl agnhost nnp pause entrypoint redis-server redis-cli gosu".split(
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
  ...["awk comm cut egrep expr fgrep fold grep ln mv nl paste", "readlink rev sed sort split strings tac tree"]
    .join(" ")
    .split(" ")
    .map((name): [string, string] => [name, "utility"]),
]);
