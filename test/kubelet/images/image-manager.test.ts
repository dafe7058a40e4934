import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { IMAGE_BACK_OFF, ImageManager, shouldPullImage } from "../../../src/kubelet/images/image-manager.js";
import { credentialsFor } from "../../../src/kubelet/images/keyring.js";
import {
  type ImagePuller,
  ParallelImagePuller,
  type PulledImage,
  type PullRequest,
  SerialImagePuller,
} from "../../../src/kubelet/images/puller.js";
import { parseImageName } from "../../../src/staging/apimachinery/image-name.js";
import { Backoff } from "../../../src/staging/client-go/backoff.js";
import { type RpcResult, rpcFailure } from "../../../src/staging/cri/grpc/status.js";
import { Image, ImageStatusResponse } from "../../../src/staging/cri/messages/image.js";
import { FakeClock } from "../../support/fake-clock.js";
import { EventLog, podOf } from "../kuberuntime/lab.js";

const { signal } = new AbortController();

describe("image names", () => {
  const table = [
    ["nginx", "docker.io", "nginx:latest"],
    ["nginx:1.25", "docker.io", "nginx:1.25"],
    ["team/app", "docker.io", "team/app:latest"],
    ["registry.k8s.io/pause:3.8", "registry.k8s.io", "registry.k8s.io/pause:3.8"],
    ["localhost/app", "localhost", "localhost/app:latest"],
    ["localhost:5000/app", "localhost:5000", "localhost:5000/app:latest"],
    ["[::1]:5000/app:1", "[::1]:5000", "[::1]:5000/app:1"],
    [`app@sha256:${"a".repeat(64)}`, "docker.io", `app@sha256:${"a".repeat(64)}`],
    [`app:1@sha256:${"a".repeat(64)}`, "docker.io", `app:1@sha256:${"a".repeat(64)}`],
  ] as const;
  for (const [text, domain, image] of table) {
    test(`${text} is ${image} at ${domain}`, () => {
      assert.deepEqual(parseImageName(text), { outcome: "ok", name: { domain, image } });
    });
  }

  const invalid = [
    ["", "invalid reference format"],
    ["Nginx", "repository name must be lowercase"],
    ["a b", "invalid reference format"],
    ["-app", "invalid reference format"],
    ["app:", "invalid reference format"],
    ["app@sha256:12", "invalid reference format"],
    ["../../etc/passwd", "invalid reference format"],
    ["a".repeat(250), "repository name must not be more than 255 characters"],
    ["a1".repeat(32), `invalid repository name (${"a1".repeat(32)}), cannot specify 64-byte hexadecimal strings`],
  ] as const;
  for (const [text, why] of invalid) {
    test(`${text.slice(0, 20)} is invalid: ${why.slice(0, 40)}`, () => {
      const message = `couldn't parse image reference "${text}": ${why}`;
      assert.deepEqual(parseImageName(text), { outcome: "invalid", message });
    });
  }
});

const policies = [
  ["Always", true, true],
  ["Always", false, true],
  ["IfNotPresent", true, false],
  ["IfNotPresent", false, true],
  ["Never", false, false],
  ["Sometimes", false, false],
  [undefined, false, false],
] as const;
for (const [policy, isPresent, want] of policies) {
  test(`pull policy ${policy}, ${isPresent ? "present" : "missing"}: ${want ? "pull" : "do not"}`, () => {
    assert.equal(shouldPullImage(policy, isPresent), want);
  });
}

/** An image service and a puller with canned answers. */
class Fakes implements ImagePuller {
  readonly clock = new FakeClock();
  readonly events = new EventLog();
  readonly pulls: PullRequest[] = [];
  present: string | undefined;
  inspect: RpcResult<void> = { outcome: "ok", value: undefined };
  inspectOncePulled: RpcResult<void> = this.inspect;
  answer: RpcResult<string> = { outcome: "ok", value: "sha256:pulled" };
  readonly manager: ImageManager;

  constructor(kubeVersion = "1.25") {
    const deps = {
      imageService: {
        imageStatus: async () => {
          if (this.inspect.outcome !== "ok") return this.inspect;
          const image = this.present === undefined ? {} : { image: Image.create({ id: this.present, size: 4269694n }) };
          return { outcome: "ok", value: ImageStatusResponse.create(image) } as const;
        },
      },
      puller: this,
      recorder: this.events,
      backOff: new Backoff(this.clock, IMAGE_BACK_OFF),
      clock: this.clock,
    };
    this.manager = new ImageManager(deps, kubeVersion);
  }

  async pull(request: PullRequest): Promise<RpcResult<PulledImage>> {
    this.pulls.push(request);
    await this.clock.advance(1387);
    if (this.answer.outcome !== "ok") return this.answer;
    this.present = this.answer.value;
    this.inspect = this.inspectOncePulled;
    return { outcome: "ok", value: { imageRef: this.answer.value, pullMs: 1200 } };
  }

  async ensure(imagePullPolicy: string, image = "app:1"): Promise<string> {
    const pod = podOf([{ name: "c", image, imagePullPolicy }], {}, { uid: "u" });
    const [container] = pod.spec.containers ?? [];
    assert.ok(container !== undefined);
    const request = { pod, container: container as never, pullSecrets: [], sandboxConfig: {} };
    const result = await this.manager.ensureImageExists(request, signal);
    return result.outcome === "ok" ? result.imageRef : `${result.error}: ${result.message}`;
  }
}

describe("ensureImageExists", () => {
  test("an image that is there is not pulled", async () => {
    const fakes = new Fakes();
    fakes.present = "sha256:there";
    assert.equal(await fakes.ensure("IfNotPresent"), "sha256:there");
    assert.deepEqual(fakes.events.take(), ['Normal Pulled Container image "app:1" already present on machine']);
  });

  test("one that is missing is pulled, with the time it took", async () => {
    const fakes = new Fakes();
    assert.equal(await fakes.ensure("IfNotPresent", "app"), "sha256:pulled");
    assert.equal(fakes.pulls[0]?.image.image, "app:latest");
    assert.deepEqual(fakes.events.take(), [
      'Normal Pulling Pulling image "app"',
      'Normal Pulled Successfully pulled image "app" in 1.387s',
    ]);
    assert.equal(fakes.events.fieldPaths[0], "spec.containers{c}");
  });

  for (const [kubeVersion, took] of [
    ["1.25", "1.387s"],
    ["1.26", "1.2s (1.387s including waiting)"],
    ["1.29", "1.2s (1.387s including waiting)"],
    ["1.30", "1.2s (1.387s including waiting). Image size: 4269694 bytes."],
  ] as const) {
    test(`how long it took, in the words of ${kubeVersion}`, async () => {
      const fakes = new Fakes(kubeVersion);
      await fakes.ensure("Always");
      assert.equal(fakes.events.take()[1], `Normal Pulled Successfully pulled image "app:1" in ${took}`);
    });
  }

  test("a size that the runtime does not tell is 0, and fails nothing", async () => {
    const fakes = new Fakes("1.30");
    fakes.inspectOncePulled = rpcFailure("Internal", "no");
    assert.equal(await fakes.ensure("Always"), "sha256:pulled");
    assert.match(fakes.events.take()[1] ?? "", /Image size: 0 bytes\.$/);
  });

  test("one that may never be pulled is an error", async () => {
    const fakes = new Fakes();
    const text = 'Container image "app:1" is not present with pull policy of Never';
    assert.equal(await fakes.ensure("Never"), `ErrImageNeverPull: ${text}`);
    assert.deepEqual(fakes.events.take(), [`Warning ErrImageNeverPull ${text}`]);
  });

  test("an invalid name is InvalidImageName", async () => {
    const fakes = new Fakes();
    const text = `Failed to apply default image tag "App": couldn't parse image reference "App": repository name must be lowercase`;
    assert.equal(await fakes.ensure("Always", "App"), `InvalidImageName: ${text}`);
    assert.deepEqual(fakes.events.take(), [`Warning InspectFailed ${text}`]);
  });

  test("a runtime that cannot look is ImageInspectError", async () => {
    const fakes = new Fakes();
    fakes.inspect = rpcFailure("Internal", "no");
    const text = 'Failed to inspect image "app:1": rpc error: code = Internal desc = no';
    assert.equal(await fakes.ensure("Always"), `ImageInspectError: ${text}`);
    assert.deepEqual(fakes.events.take(), [`Warning InspectFailed ${text}`]);
  });

  test("a failed pull waits 10 s, 20 s, ... 300 s before the next", async () => {
    const fakes = new Fakes();
    fakes.answer = rpcFailure("NotFound", "no such image");
    for (const seconds of [10, 20, 40, 80, 160, 300, 300]) {
      assert.match(await fakes.ensure("Always"), /^ErrImagePull: rpc error: code = NotFound desc = no such image$/);
      assert.equal(await fakes.ensure("Always"), 'ImagePullBackOff: Back-off pulling image "app:1"');
      await fakes.clock.advance(seconds * 1000 - 1);
      assert.match(await fakes.ensure("Always"), /^ImagePullBackOff/);
      await fakes.clock.advance(1);
    }
    assert.equal(fakes.pulls.length, 7);
    fakes.answer = { outcome: "ok", value: "sha256:pulled" };
    assert.equal(await fakes.ensure("Always"), "sha256:pulled");
  });

  test("v1.32: the waiting reason contains the last pull error; the event does not", async () => {
    const fakes = new Fakes("1.32");
    fakes.answer = rpcFailure("NotFound", "no such image");
    const why = "ErrImagePull: rpc error: code = NotFound desc = no such image";
    assert.equal(await fakes.ensure("Always"), why);
    fakes.events.take();
    assert.equal(await fakes.ensure("Always"), `ImagePullBackOff: Back-off pulling image "app:1": ${why}`);
    assert.deepEqual(fakes.events.take(), ['Normal BackOff Back-off pulling image "app:1"']);
  });
});

const docker = (registry: string, auth: object) => ({
  type: "kubernetes.io/dockerconfigjson",
  data: { ".dockerconfigjson": Buffer.from(JSON.stringify({ auths: { [registry]: auth } })).toString("base64") },
});
const keys = [
  ["its registry", docker("https://r.example/v2/", { username: "u", password: "p" }), "r.example", "u:p"],
  ["auth in one", docker("r.example", { auth: Buffer.from("u:p:q").toString("base64") }), "r.example", "u:p:q"],
  ["another registry", docker("other.example", { username: "u" }), "r.example", undefined],
  ["docker's own", docker("https://index.docker.io/v1/", { username: "u", password: "p" }), "docker.io", "u:p"],
  [
    "not JSON",
    { type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": "eHg=" } },
    "r.example",
    undefined,
  ],
  ["empty", {}, "r.example", undefined],
] as const;
for (const [name, secret, domain, want] of keys) {
  test(`pull secrets: ${name}`, () => {
    const [auth] = credentialsFor(domain, [secret]);
    assert.equal(auth === undefined ? undefined : `${auth.username}:${auth.password}`, want);
  });
}

describe("pullers", () => {
  class Service {
    underWay = 0;
    most = 0;
    readonly users: (string | undefined)[] = [];
    readonly clock = new FakeClock();
    async pullImage(_image: unknown, auth: { username?: string | undefined } | undefined): Promise<RpcResult<string>> {
      this.users.push(auth?.username);
      this.most = Math.max(this.most, ++this.underWay);
      await this.clock.sleep(10);
      this.underWay--;
      return auth?.username === "bad" ? rpcFailure("Unknown", "denied") : { outcome: "ok", value: "ref" };
    }
  }
  const request = { image: { image: "a" }, credentials: [], sandboxConfig: {} };

  for (const [Puller, most] of [
    [SerialImagePuller, 1],
    [ParallelImagePuller, 3],
  ] as const) {
    test(`${Puller.name}: ${most} at once`, async () => {
      const service = new Service();
      const puller = new Puller(service as never, service.clock);
      const pulls = Promise.all([1, 2, 3].map(() => puller.pull(request, signal)));
      await service.clock.advance(100);
      const pulled = { outcome: "ok", value: { imageRef: "ref", pullMs: 10 } };
      assert.deepEqual(await pulls, [pulled, pulled, pulled], "the wait for others is not part of the pull");
      assert.equal(service.most, most);
    });
  }

  test("an aborted waiter does not pull, and does not block the queue", async () => {
    const service = new Service();
    const puller = new SerialImagePuller(service as never, service.clock);
    const stop = new AbortController();
    const first = puller.pull(request, signal);
    const second = puller.pull(request, stop.signal);
    const third = puller.pull(request, signal);
    stop.abort();
    await assert.rejects(second, { name: "AbortError" });
    await service.clock.advance(100);
    assert.deepEqual([(await first).outcome, (await third).outcome, service.users.length], ["ok", "ok", 2]);
  });

  test("credentials are tried in their order; the last word is what all said", async () => {
    const service = new Service();
    const puller = new ParallelImagePuller(service as never, service.clock);
    const good = puller.pull({ ...request, credentials: [{ username: "bad" }, { username: "good" }] }, signal);
    await service.clock.advance(100);
    assert.equal((await good).outcome, "ok");
    const bad = puller.pull({ ...request, credentials: [{ username: "bad" }, { username: "bad" }] }, signal);
    await service.clock.advance(100);
    const result = await bad;
    assert.equal(result.outcome === "ok" ? "" : result.text, "rpc error: code = Unknown desc = denied");
    assert.deepEqual(service.users, ["bad", "good", "bad", "bad"]);
  });
});
