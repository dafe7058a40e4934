import assert from "node:assert/strict";
import { userInfo } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { stateFolder } from "../../../src/testbed/target/state-folder.js";

const own = join(userInfo().homedir, ".local/state/kubelab");
const table = [
  [{ XDG_STATE_HOME: "/s", HOME: "/h" }, "/s/kubelab"],
  [{ HOME: "/h" }, "/h/.local/state/kubelab"],
  [{ XDG_STATE_HOME: "", HOME: "/h" }, "/h/.local/state/kubelab"],
  [{}, own],
  [{ HOME: "" }, own],
] as const;
for (const [env, want] of table) {
  test(`what is kept with ${JSON.stringify(env)}: in ${want === own ? "the user's own home" : want}`, () => {
    assert.equal(stateFolder(env), want);
  });
}
