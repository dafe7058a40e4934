import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, onTestFinished, test } from "vitest";
import type { Container, Sandbox } from "../../../src/cluster/runtime/state/container.js";
import { NamespaceMode } from "../../../src/staging/cri/messages/enums.js";
import { RuntimeLab, stateOf } from "../runtime/lab.js";

const lab = new RuntimeLab();
afterAll(() => lab.stop());

interface Config {
  readonly pid: number;
  readonly targetId?: string;
  readonly security?: object;
  readonly command?: readonly string[];
  readonly image?: string;
}

function run(sandbox: Sandbox, { pid, targetId = "", security = {}, command, image = "busybox" }: Config): Container {
  const namespaceOptions = { pid, targetId };
  return lab.run(
    {
      image: { image },
      command: [...(command ?? ["sleep", "infinity"])],
      linux: { securityContext: { namespaceOptions, ...security } },
    },
    sandbox,
  );
}

async function sh(script: string, container: Container): Promise<string> {
  const { stdout, stderr } = await lab.sh(script, container);
  return stdout.toString() + stderr.toString();
}

test("containers of a pod with shareProcessNamespace see each other's processes, and /pause as PID 1", async () => {
  const sandbox = lab.sandbox();
  const web = run(sandbox, { pid: NamespaceMode.POD, image: "nginx", command: ["nginx"] });
  const shell = run(sandbox, { pid: NamespaceMode.POD });
  await lab.settle();
  assert.equal(
    await sh("ps", shell),
    "PID   USER     TIME  COMMAND\n    1 65535     0:00 /pause\n    2 root      0:00 nginx: master process nginx\n" +
      "    3 root      0:00 sleep infinity\n    4 nginx     0:00 nginx: worker process\n    5 root      0:00 ps\n",
  );
  const status = "grep -E '^(Name|Pid|PPid|Uid)' /proc/1/status; tr '\\0' ' ' < /proc/2/cmdline";
  assert.equal(
    await sh(status, shell),
    "Name:\tpause\nPid:\t1\nPPid:\t0\nUid:\t65535\t65535\t65535\t65535\nnginx: master process nginx ",
  );
  assert.equal(await sh("head -1 /proc/2/root/etc/nginx/conf.d/default.conf", shell), "server {\n");
  assert.equal(await sh("ls /proc/1/root", shell), "ls: can't open '/proc/1/root': Permission denied\n");
  assert.equal(
    await sh("echo hi > /proc/2/fd/1; echo x > /proc/2/root/x", shell),
    "sh: can't create /proc/2/root/x: Read-only file system\n",
  );
  await sh("kill -HUP 2; kill -9 1; kill -QUIT 2", shell);
  await lab.settle();
  assert.deepEqual([stateOf(web), stateOf(shell), sandbox.state], ["exited (0, Completed)", "running", "ready"]);
});

test("a signal to /pause ends the sandbox with its processes", async () => {
  const sandbox = lab.sandbox();
  const shell = run(sandbox, { pid: NamespaceMode.POD });
  await lab.sh("kill 1", shell);
  await lab.settle();
  assert.deepEqual([stateOf(shell), sandbox.state], ["exited (137, Error)", "not-ready"]);
});

test("signals and /proc/PID/root need the same user, or a capability", async () => {
  const sandbox = lab.sandbox();
  const root = run(sandbox, { pid: NamespaceMode.POD });
  const user = run(sandbox, { pid: NamespaceMode.POD, security: { runAsUser: { value: 1000n } } });
  const tracer = run(sandbox, {
    pid: NamespaceMode.POD,
    security: { capabilities: { addCapabilities: ["SYS_PTRACE"], dropCapabilities: ["KILL"] } },
  });
  assert.equal(await sh("kill 2", user), "sh: can't kill pid 2: Operation not permitted\n");
  assert.equal(await sh("/bin/kill 99", user), "kill: can't kill pid 99: No such process\n");
  assert.equal(await sh("ls /proc/2/root/", user), "ls: can't open '/proc/2/root/': Permission denied\n");
  assert.equal(
    await sh("cat /proc/3/root/etc/hostname; kill 3", tracer),
    `${sandbox.metadata.name}\nsh: can't kill pid 3: Operation not permitted\n`,
  );
  assert.match(
    await sh("ls /proc/1/root; grep CapEff /proc/1/status", tracer),
    /^bin\n[\s\S]*pause\n[\s\S]*CapEff:\t0{16}\n$/,
  );
  assert.equal(await sh("kill -0 3; echo $?", root), "0\n");
});

test("a container that targets another sees its processes, and ends with them", async () => {
  const sandbox = lab.sandbox();
  const app = run(sandbox, { pid: NamespaceMode.CONTAINER, image: "nginx", command: ["nginx"] });
  const debug = run(sandbox, { pid: NamespaceMode.TARGET, targetId: app.containerId });
  await lab.settle();
  assert.match(
    await sh("ps", debug),
    /\n {4}1 root {6}0:00 nginx: master process nginx\n {4}2 root {6}0:00 sleep infinity\n/,
  );
  assert.equal(await sh("head -1 /proc/1/root/etc/nginx/conf.d/default.conf", debug), "server {\n");
  await lab.sh("kill 1", debug);
  await lab.settle();
  assert.deepEqual([stateOf(app), stateOf(debug)], ["exited (0, Completed)", "exited (137, Error)"]);
  const late = lab.create(
    { linux: { securityContext: { namespaceOptions: { pid: NamespaceMode.TARGET, targetId: "none" } } } },
    sandbox,
  );
  assert.throws(() => lab.containers.start(late), /invalid target container/);
});

test("hostPID: the node's processes, and those of all its containers", async () => {
  const other = run(lab.sandbox(), { pid: NamespaceMode.CONTAINER, command: ["sleep", "12345"] });
  const node = run(lab.sandbox(), { pid: NamespaceMode.NODE });
  const lines = (await sh("ps", node)).split("\n");
  assert.match(lines[1] ?? "", /^ {4}1 root {6}0:00 \/sbin\/init$/);
  assert.ok(lines.some((line) => /0:00 \/usr\/bin\/kubelet /.test(line)));
  assert.equal(
    await sh("kill -0 1; kill 1; cat /proc/1/comm", node),
    "init\nsh: can't kill pid 1: Operation not permitted\n",
  );
  const pid = /^ *(\d+) root {6}0:00 sleep 12345$/m.exec(lines.join("\n"))?.[1];
  assert.equal(await sh(`kill -9 ${pid}`, node), "");
  await lab.settle();
  assert.equal(stateOf(other), "exited (137, Error)");
  await lab.containers.stop(node, 0, new AbortController().signal);
  assert.equal(stateOf(node), "exited (137, Error)");
});

const SLEEP = ["sleep", "infinity"];

test("hostPID: who may trace sees the node's root folder in /proc/1/root", async () => {
  const nodeRoot = mkdtempSync(join(tmpdir(), "kubelab-root-"));
  writeFileSync(join(nodeRoot, "hostname"), "node-7\n");
  const node = new RuntimeLab({ nodeRoot });
  onTestFinished(() => node.stop());
  const namespaceOptions = { pid: NamespaceMode.NODE };
  for (const [privileged, want] of [
    [true, "node-7\n000001ffffffffff\n"],
    [false, "cat: can't open '/proc/1/root/hostname': Permission denied\n000001ffffffffff\n"],
  ] as const) {
    const container = node.run({ command: SLEEP, linux: { securityContext: { namespaceOptions, privileged } } });
    const { stdout, stderr } = await node.sh(
      "cat /proc/1/root/hostname; awk '/CapEff/{print $2}' /proc/1/status",
      container,
    );
    assert.equal(stderr.toString() + stdout.toString(), want);
  }
});

test("a pod in the node's network has the node's name", async () => {
  const node = new RuntimeLab({ nodeName: "node-7" });
  onTestFinished(() => node.stop());
  const host = { linux: { securityContext: { namespaceOptions: { network: NamespaceMode.NODE } } } };
  const own = await node.sh("hostname; cat /etc/hostname", node.run({ command: SLEEP }, node.sandbox(host)));
  assert.equal(own.stdout.toString(), "node-7\nnode-7\n");
});
