import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { browserProgram } from "../../../src/commands/cli/browser.js";
import { missingPath } from "../../support/missing-path.js";

const PATH = mkdtempSync(join(tmpdir(), "kubelab-browser-"));
for (const name of ["xdg-open", "open"]) writeFileSync(join(PATH, name), "", { mode: 0o755 });

const table: readonly (readonly [NodeJS.Platform, Readonly<Record<string, string>>, string | undefined])[] = [
  ["linux", { PATH, DISPLAY: ":0" }, "xdg-open"],
  ["linux", { PATH, WAYLAND_DISPLAY: "wayland-0" }, "xdg-open"],
  ["linux", { PATH }, undefined],
  ["linux", { PATH, DISPLAY: "" }, undefined],
  ["linux", { PATH: missingPath(), DISPLAY: ":0" }, undefined],
  ["darwin", { PATH }, "open"],
  ["darwin", { PATH, SSH_CONNECTION: "::1 1 ::1 22" }, undefined],
];
for (const [platform, env, program] of table) {
  const given = Object.keys(env).filter((key) => key !== "PATH" || env.PATH !== PATH);
  test(`${platform}, ${given.join(", ") || "nothing set"}: ${program ?? "no browser"}`, () =>
    assert.equal(browserProgram(platform, env), program));
}
