import assert from "node:assert/strict";
import { test } from "vitest";
import { ImageStore } from "../../../src/cluster/runtime/images/image-store.js";
import { formatReference, parseReference } from "../../../src/cluster/runtime/images/reference.js";
import { IMAGE_SERVICE } from "../../../src/staging/cri/services.js";
import { growth, repeated } from "../../support/growth.js";
import { only } from "../../support/trace.js";
import { loadPrograms, never, RuntimeLab, stateOf } from "./lab.js";

const digest = `sha256:${"0123456789abcdef".repeat(4)}`;

const REFERENCES: readonly (readonly [string, string | undefined])[] = [
  ["nginx", "docker.io/library/nginx:latest"],
  ["nginx:1.25", "docker.io/library/nginx:1.25"],
  ["team/app", "docker.io/team/app:latest"],
  ["docker.io/nginx", "docker.io/library/nginx:latest"],
  ["index.docker.io/team/app:2", "docker.io/team/app:2"],
  ["registry.k8s.io/pause:3.8", "registry.k8s.io/pause:3.8"],
  ["localhost/app", "localhost/app:latest"],
  ["localhost:5000/app:v1", "localhost:5000/app:v1"],
  ["[::1]:5000/app", "[::1]:5000/app:latest"],
  [`nginx@${digest}`, `docker.io/library/nginx@${digest}`],
  [`nginx:1.25@${digest}`, `docker.io/library/nginx@${digest}`],
  ["a-b__c/d.e_f", "docker.io/a-b__c/d.e_f:latest"],
  ["under_score.example/app", undefined],
  ["../../etc", undefined],
  ["/etc/passwd", undefined],
  ["./nginx", undefined],
  ["nginx/", undefined],
  ["a//b", undefined],
  ["Nginx", undefined],
  ["registry.k8s.io/Pause", undefined],
  ["nginx:", undefined],
  ["nginx:-bad", undefined],
  [`nginx:${"t".repeat(129)}`, undefined],
  ["nginx@sha256:abc", undefined],
  [`nginx@md5:${"a".repeat(32)}`, undefined],
  ["http://nginx", undefined],
  ["ngi nx", undefined],
  ["nginx\0", undefined],
  ["", undefined],
  ["a".repeat(64), undefined],
  [`${"a/".repeat(130)}b`, undefined],
];
for (const [text, want] of REFERENCES) {
  test(`reference: ${JSON.stringify(text.slice(0, 80))} is ${want ?? "refused"}`, () => {
    if (want === undefined) assert.throws(() => parseReference(text), { code: "InvalidArgument" });
    else assert.equal(formatReference(parseReference(text)), want);
  });
}

function context() {
  return { rpc: IMAGE_SERVICE.pullImage, signal: never };
}

async function pull(lab: RuntimeLab, image: string, password?: string): Promise<unknown> {
  const pulled = lab.runtime.handlers.image.pullImage?.(
    { image: spec(image), auth: password === undefined ? undefined : loginWith(password), sandboxConfig: undefined },
    context(),
  );
  const result = Promise.resolve(pulled).then(
    () => "pulled",
    (error: unknown) => error,
  );
  await lab.clock.advance(400);
  return result;
}

function loginWith(password: string) {
  return { username: "learner", password, auth: "", serverAddress: "", identityToken: "", registryToken: "" };
}

function spec(image: string) {
  return { image, annotations: {}, userSpecifiedImage: "", runtimeHandler: "", imageRef: "" };
}

function statusOf(lab: RuntimeLab, image: string) {
  const answer = lab.runtime.handlers.image.imageStatus?.({ image: spec(image), verbose: false }, context());
  return (answer as { image?: { id: string; repoTags: string[]; repoDigests: string[]; pinned: boolean } }).image;
}

test("pull: takes time, shows progress, and stores the image under its names", async () => {
  const lab = new RuntimeLab();
  const result = pull(lab, "registry.k8s.io/kube-proxy:v1.25.0");
  assert.equal(statusOf(lab, "registry.k8s.io/kube-proxy:v1.25.0"), undefined);
  assert.equal(await result, "pulled");
  const image = statusOf(lab, "registry.k8s.io/kube-proxy:v1.25.0");
  assert.deepEqual(image?.repoTags, ["registry.k8s.io/kube-proxy:v1.25.0"]);
  assert.match(image?.repoDigests[0] ?? "", /^registry\.k8s\.io\/kube-proxy@sha256:[0-9a-f]{64}$/);
  for (const name of [image?.id, image?.id.slice("sha256:".length), image?.id.slice(7, 20), image?.repoDigests[0]]) {
    assert.equal(statusOf(lab, name ?? "")?.id, image?.id, `found as ${name}`);
  }
  const notes = only(lab.recorded.events, "note").map(({ text }) => text);
  assert.equal(notes.filter((text) => /layer \d of 4/.test(text)).length, 4);
});

test("pull: only the registry is asked again for an image whose layers exist, also under another name", async () => {
  const lab = new RuntimeLab();
  const name = "registry.k8s.io/e2e-test-images/cri-tools/test-image-tags";
  await pull(lab, `${name}:1`);
  const layers = () => only(lab.recorded.events, "note").filter(({ text }) => /layer \d of 4/.test(text)).length;
  assert.equal(layers(), 4);
  const startMs = lab.clock.now();
  for (const tag of ["1", "2"]) {
    const pulling = lab.runtime.handlers.image.pullImage?.(
      { image: spec(`${name}:${tag}`), auth: undefined, sandboxConfig: undefined },
      context(),
    );
    assert.match((await (pulling as Promise<{ imageRef: string }>)).imageRef, /^sha256:/);
  }
  assert.deepEqual([layers(), lab.clock.now()], [4, startMs]);
  assert.deepEqual(statusOf(lab, `${name}:2`)?.repoTags, [`${name}:1`, `${name}:2`]);
});

test("pull: a name always gives the same image; tags differ", async () => {
  const lab = new RuntimeLab();
  for (const name of ["redis:6", "redis:7", "redis:6"]) await pull(lab, name);
  assert.notEqual(statusOf(lab, "redis:6")?.id, statusOf(lab, "redis:7")?.id);
  assert.equal(statusOf(new RuntimeLab(), "redis:6"), undefined);
});

test("pull: two names of one content are one image with two names", async () => {
  const lab = new RuntimeLab();
  const name = "registry.k8s.io/e2e-test-images/cri-tools/test-image-tags";
  for (const tag of ["1", "2", "3"]) await pull(lab, `${name}:${tag}`);
  const image = statusOf(lab, `${name}:2`);
  assert.deepEqual(image?.repoTags, [`${name}:1`, `${name}:2`, `${name}:3`]);
  assert.equal(image?.repoDigests.length, 1);
});

test("pull: an unknown image fails at once, and a private one needs its login", async () => {
  const lab = new RuntimeLab();
  assert.match(String(await pull(lab, "nginx:1.161")), /docker.io\/library\/nginx:1.161: not found$/);
  const name = "registry.kubelab.example/team/web:1.0";
  assert.match(String(await pull(lab, name)), /unexpected status: 401 Unauthorized$/);
  assert.equal(statusOf(lab, name), undefined);
  assert.equal(await pull(lab, name, "kubelab"), "pulled");
});

test("pull: fails while the control has a pull fault", async () => {
  const lab = new RuntimeLab();
  lab.runtime.control.setPullFault("redis", "denied");
  assert.match(String(await pull(lab, "redis")), /pull access denied/);
  assert.equal(await pull(lab, "mongo"), "pulled");
  lab.runtime.control.setPullFault("redis", undefined);
  assert.equal(await pull(lab, "redis"), "pulled");
});

test("remove: removes an image with all its names, and its containers stay", async () => {
  const lab = new RuntimeLab();
  const container = lab.run({ command: ["sleep", "infinity"] });
  const { removeImage } = lab.runtime.handlers.image;
  await removeImage?.({ image: spec("busybox") }, context());
  assert.equal(statusOf(lab, "docker.io/library/busybox:latest"), undefined);
  assert.equal(container.phase.state, "running");
  assert.throws(() => lab.create(), { code: "NotFound" });
});

test("the pause image exists from the start, and is pinned", () => {
  assert.equal(statusOf(new RuntimeLab(), "registry.k8s.io/pause:3.8")?.pinned, true);
});

/** What the course prints, without the file that kind puts into each container. */
const COURSE_LISTING =
  "bin dev docker-entrypoint.d docker-entrypoint.sh entrypoint.sh etc home lib media mnt opt proc root run sbin srv sys tmp usr var";
const SHELLS: readonly (readonly [image: string, script: string, output: string, command?: string[]])[] = [
  ["cr7258/nettool:v1", "ls", COURSE_LISTING.replaceAll(" ", "\n")],
  ["cr7258/nettool:v1", "wget -qO- localhost", "kubelab nettool: curl, wget, nc and a shell to look around with"],
  ["registry.k8s.io/e2e-test-images/httpd:2.4.38-2", "echo $HTTPD_PREFIX", "/usr/local/apache2"],
  ["registry.k8s.io/e2e-test-images/nonroot:1.2", "id -u", "1234", ["sleep", "infinity"]],
  ["registry.k8s.io/e2e-test-images/agnhost:2.39", "ls /uploads", ""],
];
for (const [name, script, output, command = []] of SHELLS) {
  test(`${name}: ${script}`, async () => {
    const lab = new RuntimeLab();
    await loadPrograms();
    await pull(lab, name);
    const container = lab.run({ image: spec(name), command });
    await lab.settle();
    assert.equal((await lab.sh(script, container)).stdout.toString().trim(), output);
    lab.stop();
  });
}

/** Image, command, output, state. */
const PLACEHOLDERS: readonly (readonly [string, readonly string[], string, string])[] = [
  ["example.com/me/app:3", [], "example.com/me/app:3 started as process 1 on pod-1\n", "running"],
  [
    "example.com/me/app:3",
    ["/srv/app", "-v"],
    "kubelab has no /srv/app: this process only waits for a signal\n",
    "running",
  ],
  [
    "example.com/me/app:3",
    ["/app/server"],
    "kubelab has no /app/server: this process only waits for a signal\n",
    "running",
  ],
  ["example.com/me/app:3", ["app", "-v"], "kubelab has no app: this process only waits for a signal\n", "running"],
  ["example.com/me/app:3", ["sh", "-c", "echo hi; exit 3"], "hi\n", "exited (3, Error)"],
  ["nginx:1.161", ["sh", "-c", "which nginx"], "/usr/sbin/nginx\n", "exited (0, Completed)"],
  ["python:3.9", ["python3", "app.py"], "kubelab has no python3: this process only waits for a signal\n", "running"],
];
for (const [image, command, want, state] of PLACEHOLDERS) {
  test(`any image: ${image} with ${JSON.stringify(command)} is ${state}`, async () => {
    const lab = new RuntimeLab({ anyImage: true });
    assert.equal(await pull(lab, image), "pulled");
    const container = lab.run({ image: { image }, command: [...command] });
    const output = lab.output(container);
    await lab.settle();
    assert.deepEqual([output(), stateOf(container)], [want, state]);
    lab.stop();
  });
}

test("any image: a known image keeps refusing commands that it lacks, also after its pulls were reset", async () => {
  const lab = new RuntimeLab({ anyImage: true });
  lab.runtime.control.setPullTime(10);
  assert.equal(await pull(lab, "example.com/a"), "pulled");
  lab.runtime.control.resetPulls();
  assert.equal(await pull(lab, "example.com/b"), "pulled");
  await pull(lab, "nginx");
  assert.throws(() => lab.run({ image: { image: "nginx" }, command: ["ngix"] }), /executable file not found/);
});

test("images are added and removed in linear time; the names of the others stay", () => {
  const fill = (count: number) => {
    const store = new ImageStore();
    for (let i = 0; i < count; i++) store.add(parseReference(`example.com/app-${i}:v1`));
    return store;
  };
  const empty = ({ length }: string) => {
    const store = fill(length / 8);
    for (const image of store.list()) store.remove(image);
  };
  assert.ok(growth(empty, repeated("x")) < 10);
  const store = fill(2);
  const [first, second] = store.list();
  assert.ok(first !== undefined && second !== undefined);
  store.remove(first);
  assert.equal(store.find("example.com/app-0:v1"), undefined);
  for (const name of [...second.repoTags, ...second.repoDigests]) assert.equal(store.find(name), second);
});
