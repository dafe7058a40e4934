import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import { setDefaults } from "../../../../src/kubelet/apis/config/defaults.js";
import { loadConfigFile } from "../../../../src/kubelet/apis/config/load.js";
import { validateKubeletConfiguration } from "../../../../src/kubelet/apis/config/validation.js";

const folder = mkdtempSync(join(tmpdir(), "kubelab-config-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
const path = join(folder, "config.yaml");

async function load(text: string, kubeVersion = "1.25") {
  writeFileSync(path, text);
  const file = await loadConfigFile(path, kubeVersion);
  return { ...file, config: setDefaults(file.fields, kubeVersion) };
}

const defaulted = [
  // file, field, release, value in force
  ["", "maxPods", "1.25", 110],
  ["maxPods: 0", "maxPods", "1.25", 110],
  ["healthzPort: 0", "healthzPort", "1.25", 0],
  ["syncFrequency: 90s", "syncFrequency", "1.25", "1m30s"],
  ["syncFrequency: 0s", "syncFrequency", "1.25", "1m0s"],
  ["nodeStatusUpdateFrequency: 20s", "nodeStatusReportFrequency", "1.25", "20s"],
  ["nodeStatusUpdateFrequency: 20s\nnodeStatusReportFrequency: 1m", "nodeStatusReportFrequency", "1.25", "1m0s"],
  ["podPidsLimit: -7", "podPidsLimit", "1.25", -1],
  ["resolvConf: ''", "resolvConf", "1.25", ""],
  ["kubeAPIQPS: 0", "kubeAPIQPS", "1.25", 0],
  ["", "kubeAPIQPS", "1.25", 5],
  ["", "kubeAPIQPS", "1.27", 50],
  ["", "containerLogMaxWorkers", "1.25", undefined],
  ["", "containerLogMaxWorkers", "1.30", 1],
  ["maxParallelImagePulls: 3", "serializeImagePulls", "1.27", false],
  ["staticPodPath: manifests", "staticPodPath", "1.25", join(folder, "manifests")],
  [
    "evictionHard: {memory.available: 200Mi}",
    "evictionHard",
    "1.25",
    // One threshold replaces them all.
    { "memory.available": "200Mi" },
  ],
  [
    "authentication: {webhook: {cacheTTL: 30s}}",
    "authentication",
    "1.25",
    { x509: {}, webhook: { enabled: true, cacheTTL: "30s" }, anonymous: { enabled: false } },
  ],
] as const;
for (const [text, field, release, value] of defaulted) {
  test(`config: v${release} with "${text}": ${field} is ${JSON.stringify(value)}`, async () => {
    const { config } = await load(HEAD + text, release);
    assert.deepEqual(config[field], value);
  });
}

test("config: the defaults of each release are valid", () => {
  for (const release of ["1.25", "1.27", "1.34"]) {
    assert.deepEqual(validateKubeletConfiguration(setDefaults({}, release), release), []);
  }
});

test("config: it tells which fields the file names, zero or not", async () => {
  const { named } = await load(`${HEAD}clusterDNS: []\nrotateCertificates: false\nmaxPods: 5\n`);
  assert.deepEqual(named, ["rotateCertificates", "clusterDNS", "maxPods"]);
});

const LENIENT = "using lenient decoding as strict decoding failed: strict decoding error: ";
const warned = [
  ["maxPod: 5", "1.25", 'unknown field "maxPod"'],
  ["authentication: {webhok: {}}", "1.25", 'unknown field "authentication.webhok"'],
  ["maxPods: 5\nmaxPods: 6", "1.25", 'yaml: unmarshal errors:\n  line 4: key "maxPods" already set in map'],
  ["containerLogMaxWorkers: 2", "1.25", 'unknown field "containerLogMaxWorkers"'],
  ["containerLogMaxWorkers: 2", "1.30", undefined],
] as const;
for (const [text, release, why] of warned) {
  test(`config: v${release} with ${JSON.stringify(text)} is decoded, and warns: ${why}`, async () => {
    const { warning } = await load(HEAD + text, release);
    assert.equal(warning, why === undefined ? undefined : LENIENT + why);
  });
}

const refused = [
  ["", "was empty"],
  ["{", "failed to decode: error converting YAML to JSON: yaml: "],
  ["just text", "failed to decode: couldn't get version/kind; json parse error: json: cannot unmarshal string"],
  ["maxPods: 5", "failed to decode: Object 'Kind' is missing in 'maxPods: 5'"],
  ["kind: KubeletConfiguration", "failed to decode: Object 'apiVersion' is missing in"],
  ["apiVersion: v1\nkind: Pod", 'failed to decode: no kind "Pod" is registered for version "v1" in scheme'],
  [
    `${HEAD}maxPods: many`,
    "failed to decode: json: cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32",
  ],
  [`${HEAD}syncFrequency: 10`, "cannot unmarshal number into Go struct field KubeletConfiguration.syncFrequency"],
  [`${HEAD}syncFrequency: "10"`, 'failed to decode: time: missing unit in duration "10"'],
  [`${HEAD}syncFrequency: 5 min`, 'failed to decode: time: unknown unit " min" in duration "5 min"'],
] as const;
for (const [text, why] of refused) {
  test(`config: ${JSON.stringify(text)} is refused: ${why}`, async () => {
    await assert.rejects(load(text), (error: Error & { code?: string }) => {
      assert.equal(error.code, "BAD_FILE");
      assert.match(error.message, /^failed to load kubelet config file, error: .*, path: /s);
      assert.ok(error.message.includes(why), error.message);
      return true;
    });
  });
}

test("config: a file that does not exist is named", async () => {
  const missing = join(folder, "none.yaml");
  const why = `failed to read kubelet config file "${missing}", error: open ${missing}: no such file or directory`;
  await assert.rejects(loadConfigFile(missing, "1.25"), {
    message: `failed to load kubelet config file, error: ${why}, path: ${missing}`,
  });
});
