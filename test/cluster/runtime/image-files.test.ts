import assert from "node:assert/strict";
import { afterAll, test } from "vitest";
import { remoteImage } from "../../../src/cluster/runtime/images/image-store.js";
import { parseReference } from "../../../src/cluster/runtime/images/reference.js";
import { loadPrograms, RuntimeLab, stateOf } from "./lab.js";

const lab = new RuntimeLab();
afterAll(() => lab.stop());

const add = (image: string) => lab.core.images.add(parseReference(image));

const BASES: readonly (readonly [image: string, prettyName: string | undefined])[] = [
  ["nginx", "Debian GNU/Linux 12 (bookworm)"],
  ["nginx:1.25-alpine", "Alpine Linux v3.18"],
  ["python:3.12-alpine3.20", "Alpine Linux v3.20"],
  ["python:3.9-bullseye", "Debian GNU/Linux 11 (bullseye)"],
  ["debian:bookworm-slim", "Debian GNU/Linux 12 (bookworm)"],
  ["debian:10.13", "Debian GNU/Linux 10 (buster)"],
  ["alpine:3.4", "Alpine Linux v3.4"],
  ["ubuntu:noble", "Ubuntu 24.04 LTS"],
  ["ubuntu:23.10", "Ubuntu 23.10"],
  ["fedora:39", "Fedora Linux 39 (Container Image)"],
  ["gcr.io/distroless/static:nonroot", "Distroless"],
  ["busybox", undefined],
  ["registry.k8s.io/pause:3.8", undefined],
];
for (const [image, want] of BASES) {
  test(`${image}: /etc/os-release names ${want ?? "nothing"}`, () => {
    const text = remoteImage(parseReference(image)).osRelease;
    assert.equal(/^PRETTY_NAME="(.*)"$/m.exec(text ?? "")?.[1], want);
  });
}

test("images of one description with different bases have files of their own", async () => {
  for (const [image, want] of [
    ["redis:7", "ID=debian\n"],
    ["redis:7-alpine", "ID=alpine\n"],
  ] as const) {
    add(image);
    const container = lab.run({ image: { image }, command: ["sleep", "infinity"] });
    assert.equal((await lab.sh("grep ^ID= /etc/os-release", container)).stdout.toString(), want);
  }
});

test("a placeholder names its image as its reference does", () => {
  const digest = `sha256:${"0123456789abcdef".repeat(4)}`;
  const { env } = remoteImage(parseReference(`quay.io/a/b@${digest}`)).definition;
  assert.equal(env["KUBELAB_IMAGE"], `quay.io/a/b@${digest}`);
});

test("an image without a command needs one in the pod", () => {
  add("gcr.io/distroless/static");
  const image = { image: "gcr.io/distroless/static" };
  assert.throws(() => lab.create({ image }), {
    code: "Unknown",
    message: /^failed to generate container "[0-9a-f]{64}" spec: failed to generate spec: no command specified$/,
  });
  assert.equal(stateOf(lab.create({ image, args: ["/app"] })), "created");
});

const ENDS: readonly (readonly [image: string, args: readonly string[], state: string])[] = [
  ["python", [], "exited (0, Completed)"],
  ["node", [], "exited (0, Completed)"],
  ["perl", [], "exited (0, Completed)"],
  ["bash", [], "exited (0, Completed)"],
  ["openjdk", [], "exited (0, Completed)"],
  ["julia", [], "exited (0, Completed)"],
  ["python", ["python", "app.py"], "running"],
  ["python", ["sh", "-c", "python app.py; true"], "running"],
  ["python", ["python3", "-c", "print(1)"], "exited (127, Error)"],
  ["perl", ["perl", "-e", "exit 3"], "exited (127, Error)"],
  ["node", ["node", "--version"], "exited (127, Error)"],
  ["node", ["node", "-r", "dotenv/config", "app.js"], "running"],
  ["registry.k8s.io/kubectl:v1.28.0", ["get", "pods"], "exited (1, Error)"],
];
for (const [image, args, want] of ENDS) {
  test(`${image} ${args.join(" ")} without input: ${want}`, async () => {
    add(image);
    const container = lab.run({ image: { image }, args: [...args] });
    await lab.settle();
    assert.equal(stateOf(container), want);
  });
}

async function nginx(security: object = {}) {
  await loadPrograms();
  const container = lab.run({ image: { image: "nginx" }, linux: { securityContext: { ...OWN_PIDS, ...security } } });
  const errors = lab.output(container, "stderr");
  await lab.settle();
  const sh = async (script: string) => {
    const { stdout, stderr } = await lab.sh(script, container);
    return `${stdout}${stderr}`;
  };
  return { container, errors, sh };
}
const OWN_PIDS = { namespaceOptions: { pid: 1 } };

test("an interpreter that an exec starts ends with an error", async () => {
  add("python");
  const container = lab.run({ image: { image: "python" }, args: ["python", "app.py"] });
  for (const script of ["python3 app.py", "sh -c 'python3 app.py; exit $?'"]) {
    const { exitCode, stderr } = await lab.sh(script, container);
    assert.deepEqual([exitCode, stderr.toString()], [127, "python3: kubelab has no python3, and cannot run this\n"]);
  }
});

test("nginx: a worker of its own user, which returns when it ends", async () => {
  const { container, errors, sh } = await nginx();
  assert.match(await sh("ps"), /\n {4}1 root .* nginx: master process .*\n {4}2 nginx .* nginx: worker process\n/);
  assert.match(
    await sh("stat -c '%U %a' /var/cache/nginx/client_temp; cat /etc/nginx/nginx.conf"),
    /^nginx 700\n[\s\S]*worker_processes {2}1;/,
  );
  await sh("kill -9 2");
  await lab.clock.advance(1_000);
  await lab.settle();
  assert.match(await sh("ps"), /nginx: worker process\n/);
  assert.match(errors(), /\[alert\] 1#1: worker process 2 exited on signal 9\n.* start worker process \d+\n$/);
  assert.equal(stateOf(container), "running");
});

test("nginx: its worker ends with it, and both say so", async () => {
  const { container, errors, sh } = await nginx();
  await sh("kill -QUIT 1");
  await lab.settle();
  const said = errors().replace(/^\S+ \S+ /gm, "");
  assert.equal(
    said.slice(said.indexOf("[notice] 1#1: signal 3")),
    `[notice] 1#1: signal 3 (SIGQUIT) received, shutting down
[notice] 2#2: gracefully shutting down
[notice] 2#2: exiting
[notice] 2#2: exit
[notice] 1#1: signal 17 (SIGCHLD) received from 2
[notice] 1#1: worker process 2 exited with code 0
[notice] 1#1: exit
`,
  );
  assert.equal(stateOf(container), "exited (0, Completed)");
});

test("nginx: a worker that has just died does not keep its master", async () => {
  const { container, sh } = await nginx();
  await sh("kill -9 2");
  await lab.settle();
  await sh("kill -QUIT 1");
  await lab.clock.advance(1_000);
  await lab.settle();
  assert.equal(stateOf(container), "exited (0, Completed)");
});

test("nginx -s reload reads its files again", async () => {
  const { container, sh, errors } = await nginx();
  const file = "/etc/nginx/conf.d/default.conf";
  const workerBefore = await sh("pgrep -f 'worker process'");
  await sh(`echo 'server { listen 80; listen 8080; return 200 "new"; }' > ${file}; nginx -s reload`);
  await lab.settle();
  assert.notEqual(await sh("pgrep -f 'worker process'"), workerBefore);
  const lines = errors()
    .split("\n")
    .map((line) => line.replace(/^.*?#\d+: /, "").replace(/\d+$/, "N"));
  assert.deepEqual(
    lines.slice(-10, -1).map((line) => line.replace(/process \d+/, "process N")),
    [
      "signal 1 (SIGHUP) received, reconfiguring",
      "reconfiguring",
      "start worker processes",
      "start worker process N",
      "gracefully shutting down",
      "exiting",
      "exit",
      "signal 17 (SIGCHLD) received from N",
      "worker process N exited with code N",
    ],
  );
  assert.equal(await sh("wget -qO- localhost:80; wget -qO- localhost:8080"), "newnew");
  assert.equal(
    await sh("nginx -v; nginx -t"),
    "nginx version: nginx/1.25.3\nnginx: the configuration file /etc/nginx/nginx.conf syntax is ok\nnginx: configuration file /etc/nginx/nginx.conf test is successful\n",
  );
  await sh("nginx -s quit");
  await lab.settle();
  assert.equal(stateOf(container), "exited (0, Completed)");
});

test("nginx without capabilities fails at the owner of its first folder", async () => {
  const { container, errors } = await nginx({ capabilities: { dropCapabilities: ["ALL"] } });
  assert.equal(
    errors(),
    'nginx: [emerg] chown("/var/cache/nginx/client_temp", 101) failed (1: Operation not permitted)\n',
  );
  assert.equal(stateOf(container), "exited (1, Error)");
});
