import assert from "node:assert/strict";
import { afterEach, beforeAll, test } from "vitest";
import { loadPrograms, RuntimeLab, stateOf } from "../runtime/lab.js";

let lab = new RuntimeLab();
beforeAll(loadPrograms);
afterEach(() => {
  lab.stop();
  lab = new RuntimeLab();
});

test("a loop writes while it runs, on the injected clock", async () => {
  const container = lab.run({ command: ["sh", "-c", "while true; do echo tick; sleep 10; done"] });
  const output = lab.output(container);
  await lab.settle();
  assert.equal(output(), "tick\n");
  await lab.clock.advance(25_000);
  assert.equal(output(), "tick\ntick\ntick\n");
});

test("cat copies its input as it arrives, and ends with it", async () => {
  const container = lab.run({ command: ["cat"], stdin: true });
  const output = lab.output(container);
  const { running } = container;
  await running?.stdin?.writer.write(Buffer.from("one\n"), new AbortController().signal);
  await lab.settle();
  assert.equal(output(), "one\n");
  await running?.stdin?.writer.write(Buffer.from("two"), new AbortController().signal);
  running?.stdin?.writer.release();
  await lab.settle();
  assert.equal(output(), "one\ntwo");
  assert.equal(stateOf(container), "exited (0, Completed)");
});

test("a container without stdin reads the end at once", async () => {
  const container = lab.run({ command: ["cat"] });
  await lab.settle();
  assert.equal(stateOf(container), "exited (0, Completed)");
});

test("a shell reads commands from its stdin, and runs each when it is complete", async () => {
  const container = lab.run({ command: ["sh"], stdin: true });
  const output = lab.output(container);
  const type = async (text: string) => {
    await container.running?.stdin?.writer.write(Buffer.from(text), new AbortController().signal);
    await lab.settle();
  };
  await type("x=1\necho first $x\n");
  assert.equal(output(), "first 1\n");
  await type("for i in a b; do\n");
  await type("echo $i$x\n");
  assert.equal(output(), "first 1\n");
  await type("done\nexit 9\n");
  assert.equal(output(), "first 1\na1\nb1\n");
  assert.equal(stateOf(container), "exited (9, Error)");
});

test("tail -f prints lines that are appended to a file", async () => {
  const container = lab.run({ command: ["sh", "-c", "printf 'a\\nb\\nc\\n' > /tmp/f; exec tail -n 2 -f /tmp/f"] });
  const output = lab.output(container);
  await lab.settle();
  assert.equal(output(), "b\nc\n");
  await lab.sh("echo d >> /tmp/f", container);
  await lab.clock.advance(1000);
  assert.equal(output(), "b\nc\nd\n");
});

test("yes writes as fast as its reader reads; a container's log limits it too", async () => {
  const container = lab.run({ command: ["yes"] });
  let length = 0;
  container.running?.listen((_stream, bytes) => {
    length += bytes.length;
  });
  for (let round = 0; round < 20; round++) await lab.settle();
  const before = length;
  for (let round = 0; round < 20; round++) await lab.settle();
  assert.equal(length, before, "without time passing there is an end");
  await lab.clock.advance(100);
  for (let round = 0; round < 20; round++) await lab.settle();
  assert.ok(length > before);
});

test("nginx serves its files inside the pods' network, and logs requests", async () => {
  const server = lab.run({ image: { image: "nginx" } });
  const client = lab.run({ command: ["sleep", "infinity"] });
  const output = lab.output(server);
  await lab.settle();
  const { ip } = server.sandbox;
  const page = await lab.sh(`wget -q -O - http://${ip}/`, client);
  assert.match(page.stdout.toString(), /Welcome to nginx/);
  assert.equal((await lab.sh(`wget -q -O - http://${ip}/nothing`, client)).exitCode, 1);
  assert.equal((await lab.sh("wget -q -O - http://localhost/index.html", server)).exitCode, 0);
  assert.equal((await lab.sh("wget -q -O - http://localhost/", client)).exitCode, 1, "nobody listens there");
  assert.match(output(), /"GET \/ HTTP\/1\.1" 200 .*\n.*"GET \/nothing HTTP\/1\.1" 404 /);
  const line =
    /^[\d.]+ - - \[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000\] "GET \/ HTTP\/1\.1" 200 \d+ "-" ".*" "-"$/m;
  assert.match(output(), line);
  await lab.sh("echo mine > /usr/share/nginx/html/index.html", server);
  assert.equal((await lab.sh(`curl -s -i http://${ip}`, server)).stdout.toString().split("\r\n").at(-1), "mine\n");
});

test("httpd serves its files, also those that come later, and ends gracefully", async () => {
  const server = lab.run({ image: { image: "httpd" } });
  const client = lab.run({ command: ["sleep", "infinity"] });
  const output = lab.output(server);
  const errors = lab.output(server, "stderr");
  await lab.settle();
  const page = await lab.sh(`wget -q -O - http://${server.sandbox.ip}/`, client);
  assert.match(page.stdout.toString(), /It works!/);
  const file = "/usr/local/apache2/htdocs/index.html";
  assert.match((await lab.sh(`mv -v ${file} /tmp/`, server)).stdout.toString(), /index\.html/);
  assert.equal((await lab.sh("wget -q -O - http://localhost/index.html", server)).exitCode, 1);
  await lab.sh(`mv /tmp/index.html ${file}`, server);
  const answer = (await lab.sh("wget -q -S -O - http://localhost/index.html", server)).stderr.toString();
  assert.match(answer, /Server: Apache/);
  assert.match(errors(), /\[core:notice\] .* AH00094: Command line: 'httpd -D FOREGROUND'\n/);
  assert.match(output(), /^[\d.]+ - - \[.*\] "GET \/ HTTP\/1\.1" 200 45\n.* "GET \/index.html HTTP\/1\.1" 404 196\n/);
  await lab.sh("kill -WINCH 1", server);
  await lab.settle();
  assert.equal(stateOf(server), "exited (0, Completed)");
});

/** Servers of the documentation's examples, which run as any user: image, command, port, answer. */
const SMALL_SERVERS: readonly (readonly [string, readonly string[], number, RegExp])[] = [
  ["gcr.io/google-samples/hello-app:2.0", [], 8080, /^Hello, world!\nVersion: 1\.0\.0\nHostname: \S+\n$/],
  ["hashicorp/http-echo", ["-text=hi there", "-listen=:8090"], 8090, /^hi there\n$/],
  ["gcr.io/google-samples/kubernetes-bootcamp:v1", [], 8080, /^Hello Kubernetes bootcamp! \| Running on: \S+\n$/],
];
for (const [image, args, port, answer] of SMALL_SERVERS) {
  test(`${image} runs without root, on a file system that it cannot write`, async () => {
    const lab = new RuntimeLab({ images: [image, "busybox"] });
    const securityContext = { runAsUser: { value: 2000n }, readonlyRootfs: true };
    const server = lab.run({ image: { image }, args: [...args], linux: { securityContext } });
    await lab.settle();
    const page = await lab.sh(
      `wget -q -O - http://${server.sandbox.ip}:${port}/`,
      lab.run({ command: ["sleep", "infinity"] }),
    );
    assert.match(page.stdout.toString(), answer);
  });
}

test("etcd answers gRPC health checks at the port of its clients", async () => {
  const command = ["/usr/local/bin/etcd", "--listen-client-urls", "http://0.0.0.0:2379"];
  const image = "registry.k8s.io/etcd:3.5.1-0";
  const lab = new RuntimeLab({ images: [image] });
  const server = lab.run({ image: { image }, command });
  const errors = lab.output(server, "stderr");
  await lab.settle();
  assert.match(errors(), /gRPC server starting to listen on :2379/);
});

test("a server's end frees its port", async () => {
  const sandbox = lab.sandbox();
  const first = lab.run({ image: { image: "nginx" } }, sandbox);
  await lab.settle();
  const second = lab.run({ image: { image: "nginx" } }, sandbox);
  await lab.settle();
  assert.equal(stateOf(second), "exited (1, Error)", "one pod, one port 80");
  await lab.runtime.control.killContainer(first.containerId);
  const third = lab.run({ image: { image: "nginx" } }, sandbox);
  await lab.settle();
  assert.equal(stateOf(third), "running");
});

const COMMANDS = [
  ["image's entrypoint and cmd", {}, ["/docker-entrypoint.sh", "nginx", "-g", "daemon off;"]],
  ["args in place of cmd", { args: ["-v"] }, ["/docker-entrypoint.sh", "-v"]],
  ["command in place of both", { command: ["cat"] }, ["cat"]],
  ["command and args", { command: ["cat"], args: ["-"] }, ["cat", "-"]],
] as const;
for (const [name, config, want] of COMMANDS) {
  test(`command: ${name}`, async () => {
    const { commandOf } = await import("../../../src/cluster/runtime/state/spec.js");
    assert.deepEqual(commandOf(lab.create({ image: { image: "nginx" }, ...config })), want);
  });
}

test("an image without a description runs until a signal", async () => {
  const lab2 = new RuntimeLab({ images: ["example.com/team/app:v1"] });
  const container = lab2.run({ image: { image: "example.com/team/app:v1" } });
  const output = lab2.output(container);
  await lab2.settle();
  assert.match(output(), /^example\.com\/team\/app:v1 started/);
  await lab2.containers.stop(container, 30_000, new AbortController().signal);
  assert.equal(stateOf(container), "exited (0, Completed)");
  lab2.stop();
});

test("users: by the pod, by the image, by name", async () => {
  const who = async (more: object) => {
    const container = lab.run({ command: ["sleep", "infinity"], linux: { securityContext: more } });
    return (await lab.sh("id; echo $HOME", container)).stdout.toString();
  };
  assert.equal(await who({}), "uid=0(root) gid=0(root) groups=0(root),10(wheel)\n/root\n");
  assert.equal(
    await who({ runAsUser: { value: 1000n }, runAsGroup: { value: 2000n } }),
    "uid=1000 gid=2000 groups=2000\n/\n",
  );
  assert.equal(
    await who({ runAsUsername: "nginx" }),
    "uid=101(nginx) gid=101(nginx) groups=101(nginx)\n/nonexistent\n",
  );
  const groups = lab.run({
    command: ["sleep", "infinity"],
    linux: { securityContext: { supplementalGroups: [7n, 0n, 8n] } },
  });
  assert.equal((await lab.sh("id -G", groups)).stdout.toString(), "0 7 8 10\n");
  const unknown = lab.create({ command: ["id"], linux: { securityContext: { runAsUsername: "nobodyelse" } } });
  assert.throws(() => lab.containers.start(unknown), /no matching entries in passwd file/);
});

const PI = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798";
for (const digits of [2, 5, 10, 100]) {
  test(`perl prints ${digits} digits of pi, rounded, and ends`, async () => {
    const local = new RuntimeLab({ images: ["perl"] });
    const command = ["perl", "-Mbignum=bpi", "-wle", `print bpi(${digits})`];
    const container = local.run({ image: { image: "perl" }, command });
    const output = local.output(container);
    await local.settle();
    const rounded = { 2: "3.1", 5: "3.1416", 10: "3.141592654", 100: `${PI.slice(0, 100)}8` }[digits];
    assert.deepEqual([output(), stateOf(container)], [`${rounded}\n`, "exited (0, Completed)"]);
    local.stop();
  });
}

for (const [args, hogs, usedMib] of [
  [["-mem-total", "30Mi", "-mem-alloc-size", "10Mi", "-mem-alloc-sleep", "1s"], "0 cpu, 0 io, 1 vm", 30],
  [["-cpus", "2"], "2 cpu, 0 io, 0 vm", 0],
] as const) {
  test(`vish/stress ${args.join(" ")}: ${hogs}`, async () => {
    const local = new RuntimeLab({ images: ["vish/stress"] });
    const container = local.run({ image: { image: "vish/stress" }, args: [...args] });
    const output = local.output(container);
    await local.settle();
    if (usedMib > 0) await local.clock.advance(2_000);
    assert.ok(output().includes(`dispatching hogs: ${hogs},`), output());
    assert.equal(Math.round((container.running?.machine.memory.usedBytes ?? 0) / 2 ** 20), usedMib);
    local.stop();
  });
}

test("ps has the processor time of the statistics, busybox's way", async () => {
  const container = lab.run({ command: ["sleep", "infinity"] });
  container.running?.load.set({ burnMilliCores: 1000 });
  for (const [afterMs, want] of [
    [0, " 0:00"],
    [65_000, " 1:05"],
    [7_400_000, " 2h04"],
    [270_000_000, " 3d05"],
  ] as const) {
    await lab.clock.advance(afterMs);
    const { stdout } = await lab.sh("ps", container);
    assert.ok(stdout.toString().includes(`    1 root     ${want} sleep infinity\n`), stdout.toString());
  }
});

test("ls -l counts the blocks of files: none for empty files and links", async () => {
  const { stdout } = await lab.sh(
    "mkdir /tmp/a; cd /tmp/a; touch x; ls -l | head -n 1; echo 1 > y; head -c 5000 /dev/zero > z; ln -s y w; ls -l | head -n 1",
  );
  assert.equal(stdout.toString(), "total 0\ntotal 12\n");
});

const IMAGE_USERS = [
  ["busybox", "uid=0(root) gid=0(root) groups=0(root),10(wheel)"],
  [
    "alpine",
    "uid=0(root) gid=0(root) groups=0(root),1(bin),2(daemon),3(sys),4(adm),6(disk),10(wheel),11(floppy),20(dialout),26(tape),27(video)",
  ],
  ["nginx", "uid=0(root) gid=0(root) groups=0(root)"],
  ["curlimages/curl", "uid=100(curl_user) gid=101(curl_group) groups=101(curl_group)"],
  ["memcached", "uid=11211(memcache) gid=11211(memcache) groups=11211(memcache)"],
  ["nginxinc/nginx-unprivileged", "uid=101(nginx) gid=101(nginx) groups=101(nginx)"],
  ["bitnami/postgresql", "uid=1001 gid=0(root) groups=0(root)"],
  ["prom/prometheus", "uid=65534(nobody) gid=65534(nobody) groups=65534(nobody)"],
  ["grafana/grafana", "uid=472(grafana) gid=0(root) groups=0(root)"],
  ["elasticsearch", "uid=1000(elasticsearch) gid=0(root) groups=0(root)"],
  ["jenkins/jenkins", "uid=1000(jenkins) gid=1000(jenkins) groups=1000(jenkins)"],
] as const;
for (const [image, want] of IMAGE_USERS) {
  test(`the user of image ${image}`, async () => {
    const local = new RuntimeLab({ images: [image] });
    const container = local.run({ image: { image }, command: ["sleep", "infinity"] });
    assert.equal((await local.sh("id", container)).stdout.toString(), `${want}\n`);
    local.stop();
  });
}

test("nginx-unprivileged serves as user 101", async () => {
  const local = new RuntimeLab({ images: ["nginxinc/nginx-unprivileged"] });
  const server = local.run({ image: { image: "nginxinc/nginx-unprivileged" } });
  await local.settle();
  assert.match((await local.sh("wget -q -O - http://localhost:8080/", server)).stdout.toString(), /Welcome to nginx/);
  local.stop();
});

test("busybox's httpd serves a folder on the pod's port, also from the background", async () => {
  const server = lab.run({
    command: ["sh", "-c", "mkdir /www /www/sub; echo hi > /www/index.html; httpd -f -v -p 8080 -h /www"],
  });
  const log = lab.output(server, "stderr");
  await lab.settle();
  const url = `http://${server.sandbox.ip}:8080`;
  const run = async (script: string) => (await lab.sh(script, server)).stdout.toString();
  assert.equal(await run(`wget -qO- ${url}/`), "hi\n");
  const head =
    /^HTTP\/1\.1 200 OK\r\nDate: .*\r\nConnection: close\r\nContent-type: text\/html\r\nAccept-Ranges: bytes\r\nContent-Length: 3\r\n/;
  assert.match(await run(`printf 'GET / HTTP/1.0\r\n\r\n' | nc ${server.sandbox.ip} 8080`), head);
  assert.match(
    await run(`curl -s ${url}/nope || printf 'GET /nope HTTP/1.0\r\n\r\n' | nc localhost 8080`),
    /<BODY><H1>404 Not Found<\/H1>\nThe requested URL was not found\n<\/BODY><\/HTML>\n$/,
  );
  assert.match(
    await run("printf 'GET /sub HTTP/1.0\r\n\r\n' | nc localhost 8080"),
    /^HTTP\/1\.1 302 Found\r\n(.*\r\n)*Location: \/sub\/\r\n/,
  );
  assert.match(await run("printf 'PUT / HTTP/1.0\r\n\r\n' | nc localhost 8080"), /^HTTP\/1\.1 501 Not Implemented\r\n/);
  assert.match(log(), /^[\d.]+:\d+: response:200\n/);
  assert.equal(await run("httpd -p 81 -h /www; wget -qO- localhost:81; httpd -d 'a%20b+c'"), "hi\na b c");
  const refused = await lab.sh("httpd -f -p 8080", server);
  assert.deepEqual([refused.exitCode, refused.stderr.toString()], [1, "httpd: bind: Address already in use\n"]);
});
