import assert from "node:assert/strict";
import { afterEach, beforeAll, test } from "vitest";
import { loadPrograms, RuntimeLab } from "../runtime/lab.js";

let lab = new RuntimeLab();
beforeAll(loadPrograms);
afterEach(() => {
  lab.stop();
  lab = new RuntimeLab();
});

/** Runs a script, and moves the clock while it waits. */
async function run(script: string): Promise<string> {
  const running = lab.sh(script, lab.run({ command: ["sleep", "infinity"] }, lab.sandbox()));
  let isOver = false;
  const over = running.finally(() => {
    isOver = true;
  });
  for (let i = 0; i < 100 && !isOver; i++) {
    await lab.settle();
    await lab.clock.advance(100);
  }
  assert.ok(isOver, "the script ends within 10 s");
  const { stdout, stderr } = await over;
  return `${stdout}${stderr}`;
}

/** What busybox prints; a text is the whole output. */
const CASES: readonly (readonly [what: string, script: string, want: string | RegExp])[] = [
  ["mount", "mount | head -1", /^overlay on \/ type overlay \(rw,relatime\)\n$/],
  ["mount -t", "mount -t proc", /^proc on \/proc type proc \(.*\)\n$/],
  [
    "df of a file",
    "df -h /etc/hosts | tail -1",
    /^\/dev\/kubelab +[\d.]+[GMK] +[\d.]+[GMK]? +[\d.]+[GMK] +\d+% \/etc\/hosts\n$/,
  ],
  ["df of nothing", "df /nope", /df: \/nope: can't find mount point\n/],
  ["free", "free | head -1", "              total        used        free      shared  buff/cache   available\n"],
  ["free: rows", "free -m | tail -1", /^Swap: +0 +0 +0\n$/],
  ["uptime", "uptime", /^ \d\d:\d\d:\d\d up .*, {2}load average: 0\.00, 0\.00, 0\.00\n$/],
  [
    "ifconfig",
    "ifconfig eth0 | head -2 | tail -1",
    /^ {10}inet addr:10\.\S+ {2}Bcast:10\.\S+\.255 {2}Mask:255\.255\.255\.0\n$/,
  ],
  ["ifconfig of nothing", "ifconfig eth9", "ifconfig: eth9: error fetching interface information: Device not found\n"],
  ["route", "route -n | head -3 | tail -1", /^0\.0\.0\.0 {9}10\.\S+\.1 +0\.0\.0\.0 {9}UG {4}0 {6}0 {8}0 eth0\n$/],
  ["ip route", "ip route | head -1", /^default via 10\.\S+\.1 dev eth0 \n$/],
  [
    "netstat",
    "nc -l -p 8080 & sleep 0.1; netstat -tln | tail -1",
    /^tcp +0 +0 0\.0\.0\.0:8080 +0\.0\.0\.0:\* +LISTEN +\n$/,
  ],
  ["killall", "sleep 99 & killall sleep; wait $!; echo $?", /143\n$/],
  ["killall of nothing", "killall nosuch", "killall: nosuch: no process killed\n"],
  ["pidof", "pidof sleep", /^\d+\n$/],
  ["nohup", "nohup echo hi", "hi\n"],
  ["nohup keeps a program alive", "nohup sleep 0.2 & kill -HUP $!; wait $!; echo $?", /0\n$/],
  ["mktemp", "f=$(mktemp); stat -c %a $f; dirname $f", "600\n/tmp\n"],
  ["mktemp -d", "f=$(mktemp -d /tmp/x.XXXXXX); stat -c '%a %F' $f", "700 directory\n"],
  ["mktemp without a place for letters", "mktemp /tmp/abc", "mktemp: (null): Invalid argument\n"],
  ["realpath", "realpath /etc/../etc/hosts /nope/x", /^\/etc\/hosts\nrealpath: \/nope\/x: No such file/],
  ["touch -d", "touch -d '2020-01-31 10:20' /tmp/f; stat -c %Y /tmp/f", "1580466000\n"],
  ["touch -d with no date", "touch -d xx /tmp/f", "touch: invalid date 'xx'\n"],
  [
    "tail -F waits for its file",
    "(sleep 0.1; echo late > /tmp/t) & timeout 3 tail -F /tmp/t",
    /^late\ntail: can't open '\/tmp\/t': No such file or directory\ntail: \/tmp\/t has appeared; following end of new file\n/,
  ],
  ["an unknown letter", "head -x", /^head: invalid option -- 'x'\n/],
  ["an unknown word", "head --foo", /^head: unrecognized option '--foo'\n/],
];
for (const [what, script, want] of CASES) {
  test(`a program that shows the node or changes names: ${what}`, async () => {
    const output = await run(script);
    if (typeof want === "string") assert.equal(output, want);
    else assert.match(output, want);
  });
}
