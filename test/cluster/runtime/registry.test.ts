import assert from "node:assert/strict";
import { test } from "vitest";
import { pullError } from "../../../src/cluster/runtime/images/pull-error.js";
import { parseReference } from "../../../src/cluster/runtime/images/reference.js";
import { findDefinition, REGISTRY_IMAGES, refusalOf } from "../../../src/cluster/runtime/images/registry.js";
import { findProgram } from "../../../src/cluster/shell/programs/table.js";
import type { Init } from "../../../src/staging/apimachinery/protobuf/fields.js";
import type { AuthConfig } from "../../../src/staging/cri/messages/image.js";

const SERVED = [
  ...["nginx", "nginx:1.25", "nginx:1.14-alpine", "nginx:1.25.3", "nginx:1", "nginx:latest", "nginx:stable"],
  ...[
    "busybox:1.36",
    "busybox:1.29",
    "busybox:1.29-2",
    "alpine:3.18",
    "ubuntu:22.04",
    "redis:5.0.5-alpine",
    "httpd:2.4.39-alpine",
  ],
  ...["nettool", "stress", "polinux/stress", "agnhost", "curlimages/curl:8.4.0", "hello-world"],
  ...["registry.k8s.io/pause:3.8", "k8s.gcr.io/pause:3.2", "k8s.gcr.io/e2e-test-images/agnhost:2.21"],
  ...["gcr.io/kubernetes-e2e-test-images/kitten:1.0", "registry.k8s.io/coredns/coredns:v1.9.3"],
  ...["registry.k8s.io/kube-apiserver:v1.25.0", `nginx@sha256:${"a".repeat(64)}`],
  // Of the course, and of test/utils/image/manifest.go of Kubernetes 1.20 to 1.25.
  ...["cr7258/nettool:v1", "k8s.gcr.io/etcd:3.4.13-0", "registry.k8s.io/etcd:3.5.4-0"],
  ...[
    ...["agnhost:2.21", "agnhost:2.39", "busybox:1.29-1", "busybox:1.29-2", "jessie-dnsutils:1.4", "kitten:1.4"],
    ...["httpd:2.4.38-1", "httpd:2.4.38-2", "httpd:2.4.39-1", "httpd:2.4.39-2", "nautilus:1.5", "nginx:1.14-2"],
    ...["nginx:1.15-2", "nonewprivs:1.3", "nonroot:1.1", "nonroot:1.2", "redis:5.0.5-alpine", "redis:5.0.5-3"],
  ].flatMap((name) => [`registry.k8s.io/e2e-test-images/${name}`, `k8s.gcr.io/e2e-test-images/${name}`]),
];
/** Of the documentation's examples, of the test suite, and of kubeadm. */
const DOCUMENTED = `
nginx:1.14.2 nginx:1.16.1 redis redis:5.0.4 mysql:5.6 mysql:8.0 wordpress:4.8-apache wordpress:6.2.1-apache mongo cassandra
mariadb:10.8 gcr.io/google-samples/cassandra:v13 gcr.io/google-samples/gb-frontend:v5 registry.k8s.io/redis:e2e
us-docker.pkg.dev/google-samples/containers/gke/gb-frontend:v5 us-docker.pkg.dev/google-samples/containers/gke/hello-app:2.0
gcr.io/google_samples/gb-redis-follower:v2 gcr.io/google-samples/xtrabackup:1.0 k8s.gcr.io/kubernetes-zookeeper:1.0-3.4.10
registry.k8s.io/busybox registry.k8s.io/busybox:1.27.2 k8s.gcr.io/busybox gcr.io/google-containers/busybox
registry.k8s.io/nginx-slim:0.8 registry.k8s.io/nginx-slim:0.24 registry.k8s.io/nginx:1.7.9 registry.k8s.io/hpa-example
registry.k8s.io/etcd:3.5.4-0 quay.io/coreos/etcd:v3.5.21 registry.k8s.io/pause:2.0 registry.k8s.io/pause:3.10.1 gcr.io/google_containers/pause:2.0
perl:5.34.0 perl python python:3.9 python:2.7 node node:18-alpine golang golang:1.20 ruby:3.2 openjdk:17 php:8-apache bash bash:5 rust
debian debian:stable-slim debian:bookworm-slim ubuntu:14.04 centos:7 fedora alpine:3.4 amazonlinux:2 rockylinux:9
fluent/fluentd:v1.14-1 registry.k8s.io/fluentd-gcp:1.30 quay.io/fluentd_elasticsearch/fluentd:v2.5.2 polinux/stress vish/stress
registry.k8s.io/echoserver:1.4 gcr.io/google-samples/hello-app:1.0 gcr.io/google-samples/node-hello:1.0 k8s.gcr.io/liveness
gcr.io/google-samples/kubernetes-bootcamp:v1 gcr.io/google-samples/hello-go-gke:1.0 registry.k8s.io/goproxy:0.1
registry.k8s.io/prometheus-to-sd:v0.2.3 registry.k8s.io/serve_hostname hashicorp/http-echo:0.2.3 traefik/whoami
registry.k8s.io/e2e-test-images/perl:5.26 registry.k8s.io/e2e-test-images/echoserver:2.4 registry.k8s.io/e2e-test-images/ipc-utils:1.3
registry.k8s.io/e2e-test-images/apparmor-loader:1.4 registry.k8s.io/e2e-test-images/cuda-vector-add:2.2
registry.k8s.io/e2e-test-images/metadata-concealment:1.6 registry.k8s.io/e2e-test-images/resource-consumer:1.11
registry.k8s.io/e2e-test-images/sample-apiserver:1.17.6 registry.k8s.io/e2e-test-images/sample-device-plugin:1.3
registry.k8s.io/e2e-test-images/volume/nfs:1.3 registry.k8s.io/e2e-test-images/node-perf/npb-ep:1.2
registry.k8s.io/build-image/distroless-iptables:v0.1.1 registry.k8s.io/sig-storage/nfs-provisioner:v3.0.1
registry.k8s.io/coredns:1.7.0 registry.k8s.io/kube-proxy:v1.34.0 registry.k8s.io/metrics-server/metrics-server:v0.6.1
registry.k8s.io/kas-network-proxy/proxy-server:v0.0.37 us.gcr.io/k8s-artifacts-prod/kas-network-proxy/proxy-agent:v0.0.37
registry.k8s.io/event-exporter:v0.2.3 registry.k8s.io/cloud-controller-manager:v1.8.0 bprashanth/nginxhttps:1.0 radial/busyboxplus:curl
gcr.io/k8s-staging-cri-tools/test-image-latest gcr.io/k8s-staging-cri-tools/test-image-tag:test
gcr.io/k8s-staging-cri-tools/test-image-tag:all gcr.io/k8s-staging-cri-tools/test-image-1 gcr.io/k8s-staging-cri-tools/test-image-3
gcr.io/k8s-staging-cri-tools/hostnet-nginx-amd64 registry.k8s.io/volume-nfs:0.8 registry.k8s.io/cuda-vector-add:v0.1 k8s.gcr.io/addon-resizer:1.8.4 registry.k8s.io/kubectl:v1.28.0
bitnami/kubectl:1.25 gcr.io/distroless/static:nonroot gcr.io/distroless/base-debian12 gcr.io/distroless/nodejs20-debian12 fedora:39
registry.k8s.io/build-image/kube-cross:v1.25.0-go1.19.1-bullseye.0 gcc:13 julia haskell:9 elixir:1.15
registry.k8s.io/dns/k8s-dns-node-cache:1.22.13 registry.k8s.io/cpa/cluster-proportional-autoscaler:1.8.5 kubernetesui/dashboard:v2.7.0`;
SERVED.push(...DOCUMENTED.trim().split(/\s+/));
for (const name of SERVED) {
  test(`the registry has ${name}`, () => assert.equal(refusalOf(parseReference(name), undefined), undefined));
}

const failed = (name: string) => `failed to pull and unpack image "${name}": failed to resolve reference "${name}": `;
const DENIED =
  "pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed";
const REFUSED = [
  ["nginx:1.161", "NotFound", "docker.io/library/nginx:1.161", "docker.io/library/nginx:1.161: not found"],
  ["nginx:2", "NotFound", "docker.io/library/nginx:2", "docker.io/library/nginx:2: not found"],
  ["nginx:v1.25", "NotFound", "docker.io/library/nginx:v1.25", "docker.io/library/nginx:v1.25: not found"],
  ["nginx:1.25x", "NotFound", "docker.io/library/nginx:1.25x", "docker.io/library/nginx:1.25x: not found"],
  ["hello-world:1", "NotFound", "docker.io/library/hello-world:1", "docker.io/library/hello-world:1: not found"],
  ["does-not-exist", "Unknown", "docker.io/library/does-not-exist:latest", DENIED],
  ["team/nginx:1.25", "Unknown", "docker.io/team/nginx:1.25", DENIED],
  ["registry.k8s.io/pod:1", "NotFound", "registry.k8s.io/pod:1", "registry.k8s.io/pod:1: not found"],
  ["k8s.gcr.io/pod:1", "NotFound", "k8s.gcr.io/pod:1", "k8s.gcr.io/pod:1: not found"],
  [
    "registry.invalid:5000/app",
    "Unknown",
    "registry.invalid:5000/app:latest",
    'failed to do request: Head "https://registry.invalid:5000/v2/app/manifests/latest": dial tcp: lookup registry.invalid: no such host',
  ],
  [
    "localhost:5000/app:1",
    "Unknown",
    "localhost:5000/app:1",
    'failed to do request: Head "http://localhost:5000/v2/app/manifests/1": dial tcp 127.0.0.1:5000: connect: connection refused',
  ],
  [
    "10.0.0.9/app:1",
    "Unknown",
    "10.0.0.9/app:1",
    'failed to do request: Head "https://10.0.0.9/v2/app/manifests/1": dial tcp 10.0.0.9:443: connect: connection refused',
  ],
] as const;
for (const [name, code, full, cause] of REFUSED) {
  test(`the registry refuses ${name}: ${code}`, () => {
    const reference = parseReference(name);
    const refusal = refusalOf(reference, undefined);
    assert.ok(refusal !== undefined);
    const error = pullError(refusal, reference);
    assert.deepEqual([error.code, error.message], [code, failed(full) + cause]);
  });
}

test("with any image, the registry refuses no name and no tag, but a private image without its login", () => {
  for (const [name] of REFUSED) assert.equal(refusalOf(parseReference(name), undefined, true), undefined, name);
  assert.equal(refusalOf(parseReference(PRIVATE), undefined, true), "no-login");
});

const PRIVATE = "registry.kubelab.example/team/web:1.0";
const base64 = (text: string) => Buffer.from(text).toString("base64");
const LOGINS: readonly (readonly [string, Init<typeof AuthConfig> | undefined, string | undefined])[] = [
  ["no login", undefined, "no-login"],
  ["an empty login", {}, "no-login"],
  ["another user", { username: "eve", password: "kubelab" }, "wrong-login"],
  ["a wrong password", { username: "learner", password: "x" }, "wrong-login"],
  ["the right login", { username: "learner", password: "kubelab" }, undefined],
  ["the right login in one field", { auth: base64("learner:kubelab") }, undefined],
  ["a wrong login in one field", { auth: base64("learner:no") }, "wrong-login"],
];
for (const [what, auth, want] of LOGINS) {
  test(`a private image with ${what}: ${want ?? "served"}`, () => {
    assert.equal(refusalOf(parseReference(PRIVATE), auth), want);
  });
}

test("a private image without login, and with a wrong one, fails with 401", () => {
  const reference = parseReference(PRIVATE);
  assert.match(pullError("no-login", reference).message, /failed to fetch anonymous token: unexpected status: 401/);
  assert.match(pullError("wrong-login", reference).message, /failed to fetch oauth token: unexpected status: 401/);
});

test("an unreachable registry: the host looked up is that of the URL", () => {
  const { message } = pullError("unreachable", parseReference("nginx"));
  assert.match(
    message,
    /Head "https:\/\/registry-1\.docker\.io\/v2\/library\/nginx\/manifests\/latest": dial tcp: lookup registry-1\.docker\.io: no such host$/,
  );
});

test("too many pulls: the manifest is refused at Docker's own host", () => {
  const { message } = pullError("rate-limited", parseReference("nginx:1.25"));
  assert.match(
    message,
    /code https:\/\/registry-1\.docker\.io\/v2\/library\/nginx\/manifests\/1\.25: 429 Too Many Requests/,
  );
});

test("each tag of a repository is one image's, has a valid name and is served with its first tag", () => {
  const names = REGISTRY_IMAGES.flatMap(({ repositories, tags }) =>
    repositories.flatMap((name) => tags.map((tag) => `${name}:${tag}`)),
  );
  assert.equal(new Set(names).size, names.length);
  for (const image of REGISTRY_IMAGES) {
    for (const name of image.repositories) {
      const reference = parseReference(`${name}:${image.tags[0]?.split("..")[0]}`);
      assert.equal(findDefinition(reference), image, name);
      assert.match(refusalOf(reference, undefined) ?? "served", /^(served|no-login)$/, name);
    }
  }
});

test("each program of an image exists", () => {
  for (const { programs, about } of REGISTRY_IMAGES) {
    for (const name of Object.values(programs)) assert.ok(findProgram(name) !== undefined, `${about}: ${name}`);
  }
});
