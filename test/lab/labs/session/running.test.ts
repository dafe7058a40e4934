import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { Announcement, runningLabs } from "../../../../src/lab/labs/session/running.js";

const newEnv = () => ({ XDG_STATE_HOME: mkdtempSync(join(tmpdir(), "kubelab-running-")) });
const folderOf = (env: { XDG_STATE_HOME: string }) => join(env.XDG_STATE_HOME, "kubelab", "learn");
const place = { folder: "/lab", programs: "/lab/.bin", variables: { KUBECONFIG: "/k" } };
const about = { lab: "tiny", startedAtMs: 5, language: "en", place } as const;

describe("other terminals find a lab", () => {
  test("with its place and its present step, until it ends", async () => {
    const env = newEnv();
    await using announcement = await Announcement.of(env, about);
    const step = { en: [{ kind: "text", markdown: "Text." }], zh: [{ kind: "text", markdown: "文字。" }] } as const;
    announcement.note(step);
    await announcement.written();
    const [found, ...others] = await runningLabs(env);
    assert.deepEqual(others, []);
    assert.deepEqual([found?.lab, found?.pid, found?.place], ["tiny", process.pid, place]);
    assert.deepEqual(found?.step, step);
    await announcement[Symbol.asyncDispose]();
    assert.deepEqual(readdirSync(folderOf(env)), []);
  });

  test("not one whose process was killed, and not half a file", async () => {
    const env = newEnv();
    const announcement = await Announcement.of(env, about);
    await announcement.written();
    const dead = join(folderOf(env), "running-4000000.json");
    writeFileSync(dead, JSON.stringify({ ...about, version: 2, pid: 4_000_000, mark: "1", step: {} }));
    writeFileSync(join(folderOf(env), "running-2.json"), '{"version":2,');
    assert.equal((await runningLabs(env)).length, 1);
    assert.equal(existsSync(dead), false);
    await announcement[Symbol.asyncDispose]();
    assert.deepEqual(await runningLabs(newEnv()), []);
  });
});
