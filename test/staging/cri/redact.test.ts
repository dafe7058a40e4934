import assert from "node:assert/strict";
import { test } from "vitest";
import { Container } from "../../../src/staging/cri/messages/container.js";
import {
  CreateContainerRequest,
  ExecResponse,
  ExecSyncRequest,
  ExecSyncResponse,
  ListContainersResponse,
} from "../../../src/staging/cri/messages/container-calls.js";
import { PullImageRequest } from "../../../src/staging/cri/messages/image.js";
import { PodSandboxStatusResponse } from "../../../src/staging/cri/messages/sandbox.js";
import { redactMessage } from "../../../src/staging/cri/redact.js";

const table = [
  [
    "values of environment variables go",
    redactMessage(CreateContainerRequest, { config: { envs: [{ key: "TOKEN", value: "s3cret" }, { key: "EMPTY" }] } }),
    { config: { envs: [{ key: "TOKEN", value: "****" }, { key: "EMPTY" }] } },
  ],
  [
    "credentials for registries go, names stay",
    redactMessage(PullImageRequest, {
      image: { image: "x" },
      auth: { username: "u", password: "p", auth: "a", serverAddress: "s", identityToken: "i", registryToken: "r" },
    }),
    {
      image: { image: "x" },
      auth: {
        username: "u",
        password: "****",
        auth: "****",
        serverAddress: "s",
        identityToken: "****",
        registryToken: "****",
      },
    },
  ],
  [
    "verbose info goes: runtimes repeat the environment in it",
    redactMessage(PodSandboxStatusResponse, { info: { info: '{"env":["TOKEN=s3cret"]}' }, timestamp: 5n }),
    { info: { info: "****" }, timestamp: "5" },
  ],
  [
    "values of flags in command lines go",
    redactMessage(CreateContainerRequest, {
      config: { command: ["app", "--token", "s3cret"], args: ["--password=s3cret"] },
    }),
    { config: { command: ["app", "--token", "****"], args: ["--password=****"] } },
  ],
  [
    "the same in exec",
    redactMessage(ExecSyncRequest, { containerId: "c", cmd: ["curl", "-H", "Authorization: Bearer s3cret"] }),
    { containerId: "c", cmd: ["curl", "-H", "Authorization: Bearer ****"] },
  ],
  ["URLs of streams go", redactMessage(ExecResponse, { url: "http://127.0.0.1:1/exec/abc" }), { url: "****" }],
  [
    "of what a command printed only the length stays",
    redactMessage(ExecSyncResponse, { stdout: Buffer.from("s3cret"), exitCode: 1, stderr: Buffer.alloc(0) }),
    { stdout: "6 bytes", exitCode: 1 },
  ],
  [
    "the pod as kubectl keeps it goes, other annotations stay; tokens in them are masked",
    redactMessage(Container, {
      annotations: {
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        note: "join with abcdef.0123456789abcdef",
      },
    }),
    {
      annotations: {
        "kubectl.kubernetes.io/last-applied-configuration": "****",
        note: "join with abcdef.****",
      },
    },
  ],
  [
    "messages that were encoded before are shown like others",
    redactMessage(ListContainersResponse, { containers: [Container.encoded({ id: "a", createdAt: 7 })] }),
    { containers: [{ id: "a", createdAt: "7" }] },
  ],
  [
    "of long lists the beginning is shown",
    redactMessage(ListContainersResponse, { containers: Array.from({ length: 1_000 }, () => ({ id: "a" })) }),
    { containers: [...Array.from({ length: 50 }, () => ({ id: "a" })), "and 950 more"] },
  ],
] as const;
for (const [name, seen, want] of table) {
  test(`redact: ${name}`, () => {
    assert.deepEqual(seen, want);
    assert.ok(JSON.stringify(seen).length > 0);
  });
}
