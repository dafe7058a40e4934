/** What busybox prints about the arguments of its programs, when it is built without long help texts, as far as ours take them. */

const BANNER = "BusyBox v1.35.0 (kubelab) multi-call binary.";

const HELP_WIDTH = 68;

const SYNOPSES: Readonly<Record<string, string>> = {
  __proto__: null as never,
  addgroup: "[-g GID] [-S] [USER] GROUP",
  adduser: "[OPTIONS] USER [GROUP]",
  ash: "[-il] [-|+Cabefmnuvx] [-c 'SCRIPT' [ARG0 ARGS] | FILE ARGS | -s ARGS]",
  awk: "[-F SEP] [-v VAR=VAL] [-f FILE | PROGRAM] [FILE]...",
  base64: "[-d] [-w COL] [FILE]",
  basename: "FILE [SUFFIX] | -a FILE... | -s SUFFIX FILE...",
  brctl: "COMMAND [BRIDGE]",
  cat: "[-nbvteA] [FILE]...",
  chgrp: "[-RhLHPcvf]... GROUP FILE...",
  chmod: "[-Rcvf] MODE[,MODE]... FILE...",
  chown: "[-RhLHPcvf]... USER[:[GRP]] FILE...",
  chroot: "NEWROOT [PROG ARGS]",
  clear: "",
  cmp: "[-ls] [-n NUM] FILE1 [FILE2]",
  comm: "[-123] FILE1 FILE2",
  cp: "[-arPLHpfinlsTu] SOURCE DEST\nor: cp [-arPLHpfinlsu] SOURCE... { -t DIRECTORY | DIRECTORY }",
  cut: "{-b|c LIST | -f LIST [-d SEP] [-s]} [FILE]...",
  date: "[OPTIONS] [+FMT] [[-s] TIME]",
  dd: "[if=FILE] [of=FILE] [ibs=N obs=N/bs=N] [count=N] [skip=N] [seek=N]\n\t[conv=notrunc|noerror|sync|fsync]",
  df: "[-PkmhTai] [-t TYPE] [FILESYSTEM]...",
  diff: "[-abBdiNqrTstw] [-L LABEL] [-U LINES] FILE1 FILE2",
  dirname: "FILENAME",
  du: "[-aHLdclsxhmk] [FILE]...",
  env: "[-i0] [-u NAME]... [-] [NAME=VALUE]... [PROG ARGS]",
  expr: "EXPRESSION",
  find: "[-HL] [PATH]... [OPTIONS] [ACTIONS]",
  fold: "[-bs] [-w WIDTH] [FILE]...",
  free: "[-bkmgh]",
  getent: "passwd|group|hosts|ahosts KEY",
  grep: "[-HhnlLoqvsrRiwFEz] [-m N] [-A|B|C N] { PATTERN | -e PATTERN... | -f FILE... } [FILE]...",
  groups: "[USER]",
  gunzip: "[-cfkt] [FILE]...",
  gzip: "[-cfkdt123456789] [FILE]...",
  head: "[OPTIONS] [FILE]...",
  hexdump: "[-bcdoxCv] [-n LEN] [-s OFS] [FILE]...",
  hostid: "",
  hostname: "[-sidf] [HOSTNAME | -F FILE]",
  httpd: "[-fv] [-p [IP:]PORT] [-h HOME]",
  id: "[-ugGnr] [USER]",
  ifconfig: "[-a] [IFACE]",
  ip: "address|route|link [show]",
  ipcs: "",
  install: "[-cdDsp] [-o USER] [-g GRP] [-m MODE] [-t DIR] [SOURCE]... DEST",
  kill: "[-l] [-SIG] PID...",
  killall: "[-lq] [-SIG] PROCESS_NAME...",
  less: "[-EFIMmNSRh~] [FILE]...",
  link: "FILE LINK",
  ln: "[-sfnbtv] [-S SUF] TARGET... LINK|DIR",
  logger: "[-s] [-t TAG] [-p PRIO] [MESSAGE]",
  ls: "[-1AaCxdLHRFplinshrSXvctu] [-w WIDTH] [FILE]...",
  md5sum: "[-c[sw]] [FILE]...",
  mkdir: "[-m MODE] [-p] DIRECTORY...",
  mkfifo: "[-m MODE] NAME",
  mknod: "[-m MODE] NAME TYPE [MAJOR MINOR]",
  mktemp: "[-dt] [-p DIR] [TEMPLATE]",
  more: "[FILE]...",
  mount: "[OPTIONS] [-o OPT] DEVICE NODE",
  mountpoint: "[-q] { [-dn] DIR | -x DEVICE }",
  mv: "[-finT] SOURCE DEST\nor: mv [-fin] SOURCE... { -t DIRECTORY | DIRECTORY }",
  nc: "[-zvun] [-w SEC] HOST PORT\nor: nc -l [-kvu] [-p PORT] [-e PROG]",
  netstat: "[-ral] [-tuwx] [-en]",
  nice: "[-n ADJUST] [PROG ARGS]",
  nl: "[OPTIONS] [FILE]...",
  nohup: "PROG ARGS",
  nproc: "[--all] [--ignore=N]",
  nsenter: "[OPTIONS] [PROG ARGS]",
  nslookup: "[-type=QUERY_TYPE] HOST [DNS_SERVER]",
  od: "[-abcdfhilovxs] [-t TYPE] [-A RADIX] [-N SIZE] [-j SKIP] [FILE]...",
  paste: "[-d LIST] [-s] [FILE]...",
  pgrep: "[-flanovx] [-s SID|-P PPID|PATTERN]",
  pidof: "[-s] [-o PID] [NAME]...",
  ping: "[-c COUNT] [-i SECS] [-W SECS] [-w SECS] HOST",
  pkill: "[-l|-SIGNAL] [-xfvno] [-s SID|-P PPID|PATTERN]",
  printf: "FORMAT [ARG]...",
  printenv: "[VARIABLE]...",
  ps: "[-o COL1,COL2=HEADER] [-T]",
  pwd: "",
  readlink: "[-fnv] FILE",
  realpath: "FILE...",
  reset: "",
  rev: "[FILE]...",
  rm: "[-irf] FILE...",
  rmdir: "[-p] DIRECTORY...",
  route: "[-ne]",
  sed: "[-i[SFX]] [-nrE] [-f FILE]... [-e CMD]... [FILE]...\nor: sed [-i[SFX]] [-nrE] CMD [FILE]...",
  seq: "[-w] [-s SEP] [FIRST [INC]] LAST",
  setsid: "[-c] PROG ARGS",
  sh: "[-il] [-|+Cabefmnuvx] [-c 'SCRIPT' [ARG0 ARGS] | FILE ARGS | -s ARGS]",
  sha1sum: "[-c[sw]] [FILE]...",
  sha256sum: "[-c[sw]] [FILE]...",
  sha512sum: "[-c[sw]] [FILE]...",
  sleep: "[N]...",
  sort: "[-nrugMcszbdfiokt] [-o FILE] [-k START[.OFS][OPTS][,END[.OFS][OPTS]] [-t CHAR] [FILE]...",
  split: "[OPTIONS] [INPUT [PREFIX]]",
  stat: "[-ltf] [-c FMT] FILE...",
  strings: "[-fo] [-t o|d|x] [-n LEN] [FILE]...",
  stty: "[-a|g] [SETTING]...",
  su: "[-lmp] [-s SH] [-] [USER [FILE ARGS | -c 'CMD' [ARG0 ARGS]]]",
  sync: "[-df] [FILE]...",
  sysctl: "[-enq] { -a | [-w] [KEY[=VALUE]]... }",
  tac: "[FILE]...",
  tail: "[OPTIONS] [FILE]...",
  tar: "c|x|t [-zahmvokO] [-f TARFILE] [-C DIR] [-T FILE] [-X FILE] [LONGOPT]... [FILE]...",
  tee: "[-ai] [FILE]...",
  telnet: "HOST [PORT]",
  time: "[-vpa] [-o FILE] PROG ARGS",
  timeout: "[-s SIG] [-k KILL_SECS] SECS PROG ARGS",
  top: "[-b] [-n COUNT] [-d SECONDS]",
  touch: "[-cham] [-d DATE] [-t DATE] [-r FILE] FILE...",
  tr: "[-cds] STRING1 [STRING2]",
  tree: "[PATH]...",
  truncate: "[-c] -s SIZE FILE...",
  tty: "[-s]",
  umount: "[-rlfda] [-t FSTYPE] FILESYSTEM|DIRECTORY",
  uname: "[-amnrspvio]",
  uniq: "[-cduiz] [-f,s,w N] [FILE [OUTFILE]]",
  unlink: "FILE",
  unzip: "[-lnojpq] FILE[.zip] [FILE]... [-x FILE]... [-d DIR]",
  uptime: "",
  usleep: "N",
  watch: "[-n SEC] [-t] PROG ARGS",
  wc: "[-cmlwL] [FILE]...",
  wget: "[-cqS] [--spider] [-O FILE] [--header STR] [--post-data STR] [-T SEC] URL...",
  which: "[-a] COMMAND...",
  whoami: "",
  xargs: "[OPTIONS] [PROG ARGS]",
  yes: "[STRING]",
  zcat: "[FILE]...",
};

/** Exit codes of wrong usage, where it is not 1. */
const CODES: Readonly<Record<string, number>> = {
  __proto__: null as never,
  egrep: 2,
  fgrep: 2,
  grep: 2,
  sort: 2,
};

/** The usage of a program and its exit code. @returns undefined if the program is none of busybox's */
export function usageOf(name: string): { readonly text: string; readonly code: number } | undefined {
  const synopsis = SYNOPSES[/^[ef]grep$/.test(name) ? "grep" : name];
  if (synopsis === undefined) return undefined;
  const text = `${BANNER}\n\nUsage: ${name}${synopsis === "" ? "" : ` ${synopsis}`}\n`;
  return { text, code: CODES[name] ?? 1 };
}

/** The list of programs that `busybox` itself prints. */
export function helpText(names: readonly string[]): string {
  const lines = [""];
  for (const [at, name] of names.entries()) {
    const word = at + 1 < names.length ? `${name},` : name;
    const last = lines.at(-1) ?? "";
    if (last !== "" && last.length + word.length > HELP_WIDTH) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  const usage = "Usage: busybox [function [arguments]...]\n   or: busybox --list\n   or: function [arguments]...\n";
  return `${BANNER}\n\n${usage}\nCurrently defined functions:\n${lines.map((line) => `\t${line}\n`).join("")}`;
}
